#include "damper/http/trace/traced.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "damper/http/spans/caller_trace.h"
#include "damper/http/spans/span_texts.h"
#include "damper/observe/trace/otlp.h"
#include "damper/run/clock.h"

namespace damper::http {
namespace {

struct Settings {
  Handler inner;
  observe::Tracer& tracer;
  TracedOptions options;
};
using SettingsPtr = std::shared_ptr<const Settings>;

// As much of a text as a span has.
std::string kept(std::string_view text) {
  return std::string(text.substr(0, observe::kLongestSpanText));
}

CallerTrace caller_of(const Request& request, const TracedOptions& options) {
  CallerTrace caller;
  caller.read(request.fields.view(),
              options.is_trusted ? options.is_trusted(request) : options.trusted);
  return caller;
}

// The exchange that the handler sees, around the server's own.
class TracedExchange final : public WrappedExchange {
 public:
  TracedExchange(SettingsPtr settings, const ExchangePtr& outer)
      : WrappedExchange(outer, outer->inherited()),
        settings_(std::move(settings)),
        method_(known_method(request_.method)),
        route_(settings_->options.find_route ? settings_->options.find_route(request_)
                                             : std::string_view(settings_->options.route)),
        path_(kept(path_of(request_.target))),
        authority_(kept(request_.authority)),
        user_agent_(kept(request_.fields.find("user-agent").value_or(""))),
        caller_(caller_of(request_, settings_->options)),
        context_(settings_->tracer.begin(caller_.parent)) {
    inherited_.trace = context_;
    inherited_.tracestate = caller_.tracestate;
  }
  TracedExchange(const TracedExchange&) = delete;
  TracedExchange& operator=(const TracedExchange&) = delete;
  ~TracedExchange() override {
    if (ended_) return;
    const bool cancelled = outer_->is_over();
    end(cancelled ? 0 : 500,
        cancelled ? "cancelled" : "");  // Without an answer the server's is 500.
  }

  void respond(Response response) override {
    const ExchangePtr outer = outer_;
    if (!ended_) {
      const bool cancelled = outer->is_over();
      end(cancelled ? 0 : response.status,
          cancelled ? "cancelled" : response.fields.find("damper-verdict").value_or(""));
    }
    outer->respond(std::move(response));
  }
  [[nodiscard]] bool is_over() const noexcept override { return outer_->is_over(); }
  void on_cancel(std::function<void()> give_up) override { outer_->on_cancel(std::move(give_up)); }

 private:
  // `status` 0: the client has disconnected.
  void end(int status, std::string_view verdict) {
    ended_ = true;
    const Instant now = run::now();
    const observe::Ending ending = status == 0     ? observe::Ending::refused
                                   : status >= 500 ? observe::Ending::failed
                                                   : observe::Ending::good;
    observe::Tracer& tracer = settings_->tracer;
    if (!tracer.keeps(context_, ending, now)) return;
    observe::Span span;
    span.context = context_;
    span.parent = caller_.parent.span;
    span.remote_parent = true;
    span.tracestate = caller_.tracestate;
    span.kind = observe::SpanKind::server;
    std::array<char, 128> name{};
    std::size_t size = method_.copy(name.data(), method_.size());
    if (!route_.empty()) {
      name[size++] = ' ';
      size += route_.copy(name.data() + size, name.size() - size);
    }
    span.name = {name.data(), size};
    span.start_ns = unix_ns(arrived_, now);
    span.end_ns = unix_ns(now, now);
    span.add("http.request.method", method_);
    span.add("url.path", path_);
    add_server(span, authority_);
    span.add("http.route", route_);
    if (status != 0) span.add_number("http.response.status_code", status);
    span.add("user_agent.original", user_agent_);
    span.add("damper.verdict", verdict);
    const std::string digits = std::to_string(status);
    if (status >= 500) {
      span.status = observe::SpanStatus::error;
      span.add("error.type", verdict.empty() ? std::string_view(digits) : verdict);
    }
    if (caller_.stranger) span.add_link(caller_.stranger);
    tracer.add(span);
  }

  const SettingsPtr settings_;
  const std::string_view method_;
  const std::string_view route_;
  const std::string path_;
  const std::string authority_;
  const std::string user_agent_;
  const CallerTrace caller_;
  const observe::SpanContext context_;
  bool ended_ = false;
};

}  // namespace

Handler traced(Handler inner, observe::Tracer& tracer, TracedOptions options) {
  auto settings =
      std::make_shared<const Settings>(Settings{std::move(inner), tracer, std::move(options)});
  return [settings = std::move(settings)](const ExchangePtr& exchange) {
    const std::shared_ptr<TracedExchange> wrapped(new TracedExchange(settings, exchange),
                                                  EndsOnTheLoop());
    settings->inner(wrapped);
  };
}

}  // namespace damper::http
