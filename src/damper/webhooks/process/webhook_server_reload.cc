#include <string_view>
#include <utility>

#include "damper/webhooks/process/webhook_server.h"

namespace damper::webhooks {

Expected<std::vector<std::string>> WebhookServer::reload(const ServeOptions& fresh) {
  // Whether there are tokens at all decides who may connect: that is for a restart.
  const bool has_tokens = !options_.token_file.empty() && !fresh.token_file.empty();
  if (has_tokens) {
    auto tokens = ApiTokens::read(fresh.token_file);
    if (!tokens) return unexpected(tokens.error());
    api_->set_tokens(*std::move(tokens));
    options_.token_file = fresh.token_file;
  }
  options_.log_attempts = fresh.log_attempts;
  options_.keep_messages = fresh.keep_messages;
  options_.keep_dead_letters = fresh.keep_dead_letters;
  options_.keep_attempts = fresh.keep_attempts;
  options_.drain_time = fresh.drain_time;
  options_.schedule = fresh.schedule;
  options_.backoff_base = fresh.backoff_base;
  options_.backoff_cap = fresh.backoff_cap;
  options_.max_attempts = fresh.max_attempts;
  options_.dispatcher.policy = fresh.dispatcher.policy;
  dispatcher_->reload(dispatcher_options(options_).policy);

  std::vector<std::string> need_restart;
  const auto add = [&](std::string_view path) {
    if (need_restart.empty() || need_restart.back() != path) need_restart.emplace_back(path);
  };
  const auto& schema = serve_schema();
  for (const config::Key& key : schema.keys()) {
    const bool was_on = schema.is_on(key, options_);
    const bool is_on = schema.is_on(key, fresh);
    if (was_on != is_on) {
      add(config::parent(key.path));  // The section, once.
    } else if (is_on && schema.value(key, options_) != schema.value(key, fresh)) {
      add(key.path);
    }
  }
  return need_restart;
}

}  // namespace damper::webhooks
