#include <algorithm>
#include <functional>
#include <utility>

#include "damper/webhooks/api/api_handler.h"
#include "damper/webhooks/api/api_handler_back.h"
#include "damper/webhooks/api/api_json.h"
#include "damper/webhooks/api/bodies.h"

namespace damper::webhooks {
namespace {

[[nodiscard]] ApiError too_many(const char* what, std::size_t most) {
  return {.status = 409,
          .code = "limit",
          .sentence = "there are " + std::to_string(most) + " " + what + ", the limit"};
}

}  // namespace

const Endpoint* ApiHandler::find_endpoint(const Call& call) const {
  const auto id = parse_id(kEndpointPrefix, call.id);
  const Endpoint* const endpoint = id ? directory_.find(*id) : nullptr;
  return endpoint != nullptr && endpoint->application == call.application ? endpoint : nullptr;
}

void ApiHandler::list_applications(const Call& call) {
  std::vector<ApplicationView> views;
  bool more = false;
  for (std::string& name : directory_.applications()) {
    if (name <= call.after || (!call.tenant.empty() && name != call.tenant)) continue;
    more = views.size() == call.page.limit;
    if (more) break;
    const std::size_t endpoints = directory_.endpoints_of(name).size();
    views.push_back({.name = std::move(name), .endpoints = endpoints});
  }
  respond(call, applications_json(views, more ? std::optional(views.back().name) : std::nullopt));
}

void ApiHandler::create_application(const Call& call) {
  auto name = parse_application(call.exchange->request().body);
  if (!name) return refuse(call, name.error());
  change([this, call, name = *std::move(name)] {
    if (directory_.has_application(name)) {
      refuse(call, ApiError{.status = 409,
                            .code = "exists",
                            .sentence = "the application \"" + name + "\" exists"});
      return end_change();
    }
    if (directory_.applications().size() >= options_.max_applications) {
      refuse(call, too_many("applications", options_.max_applications));
      return end_change();
    }
    store_.put_application(
        name, now_(),
        back<Store::Nothing>(call, [this, call, name](Expected<Store::Nothing, StoreError>& done) {
          if (done) {
            directory_.put_application(name);
            respond(call, application_json({.name = name}));
          } else {
            refuse(call, done.error());
          }
          end_change();
        }));
  });
}

void ApiHandler::remove_application(const Call& call) {
  change([this, call] {
    const std::string& name = call.application;
    if (!directory_.has_application(name)) {
      refuse(call, StoreError{StoreError::Kind::not_found, "it was removed"});
      return end_change();
    }
    std::vector<Endpoint> endpoints;
    for (const Endpoint* const endpoint : directory_.endpoints_of(name)) {
      endpoints.push_back(*endpoint);
    }
    directory_.remove_application(name);
    store_.remove_application(
        name, back<Store::Nothing>(call, [this, call, endpoints = std::move(endpoints)](
                                             Expected<Store::Nothing, StoreError>& done) {
          if (done) {
            for (const Endpoint& endpoint : endpoints) {
              deliveries_.on_changed(endpoint.id);
              forget_holds({.application = call.application, .endpoint = endpoint.id}, false);
            }
            forget_holds({.application = call.application}, true);
            respond(call, {});
          } else {
            directory_.put_application(call.application);
            for (const Endpoint& endpoint : endpoints) directory_.put(endpoint);
            refuse(call, done.error());
          }
          end_change();
        }));
  });
}

void ApiHandler::list_endpoints(const Call& call) {
  auto endpoints = directory_.endpoints_of(call.application);
  std::ranges::sort(endpoints, std::greater<>(),
                    [](const Endpoint* endpoint) { return number(endpoint->id); });
  std::vector<EndpointView> views;
  bool more = false;
  for (const Endpoint* const endpoint : endpoints) {
    if (call.page.before && number(endpoint->id) >= *call.page.before) continue;
    more = views.size() == call.page.limit;
    if (more) break;
    views.push_back({.endpoint = endpoint, .status = deliveries_.status(endpoint->id)});
  }
  respond(call, endpoints_json(
                    views, more ? std::optional(id_text(kEndpointPrefix, views.back().endpoint->id))
                                : std::nullopt));
}

void ApiHandler::put_endpoint(const Call& call, Endpoint endpoint, bool created) {
  Endpoint written = endpoint;
  store_.put_endpoint(
      std::move(written),
      back<Store::Nothing>(call, [this, call, endpoint = std::move(endpoint),
                                  created](Expected<Store::Nothing, StoreError>& done) {
        if (done) {
          on_written(endpoint);
          if (call.route->answer == &kSecretAnswer) {
            respond(call, secret_json(endpoint.config));
          } else {
            respond(call, endpoint_json(endpoint, deliveries_.status(endpoint.id), created));
          }
        } else {
          refuse(call, done.error());
        }
        end_change();
      }));
}

void ApiHandler::on_written(const Endpoint& endpoint) {
  directory_.put(endpoint);
  directory_.on_written(endpoint.id, endpoint.version);
  deliveries_.on_changed(endpoint.id);
}

void ApiHandler::disable(const Endpoint& disabled,
                         std::function<void(std::function<void()>)> post) {
  change([this, disabled, post = std::move(post)] {
    const Endpoint* const known = directory_.find(disabled.id);
    if (known == nullptr || known->config.disabled || known->config.url != disabled.config.url) {
      if (known != nullptr) deliveries_.on_changed(known->id);
      return end_change();
    }
    Endpoint endpoint = *known;
    endpoint.config.disabled = true;
    endpoint.config.disabled_reason = disabled.config.disabled_reason;
    store_.put_endpoint(endpoint,
                        [this, endpoint, post](const Expected<Store::Nothing, StoreError>& done) {
                          post([this, endpoint, good = static_cast<bool>(done)] {
                            if (closed_) return;
                            if (good) on_written(endpoint);
                            end_change();
                          });
                        });
  });
}

void ApiHandler::create_endpoint(const Call& call) {
  Endpoint endpoint{.application = call.application, .config = {}};
  const http::EgressGuard* const guard = options_.guard ? &*options_.guard : nullptr;
  if (const auto error =
          apply_new_endpoint(call.exchange->request().body, guard, endpoint.config)) {
    return refuse(call, *error);
  }
  change([this, call, endpoint = std::move(endpoint)]() mutable {
    if (!directory_.has_application(call.application)) {
      refuse_unknown(call, "application");
      return end_change();
    }
    if (directory_.size() >= options_.max_endpoints) {
      refuse(call, too_many("endpoints", options_.max_endpoints));
      return end_change();
    }
    endpoint.created = now_();
    endpoint.id = ids_.next(endpoint.created);
    put_endpoint(call, std::move(endpoint), true);
  });
}

void ApiHandler::change_known(const Call& call, std::function<void(Endpoint&&)> then) {
  change([this, call, then = std::move(then)] {
    const Endpoint* const known = find_endpoint(call);
    if (known == nullptr) {
      refuse_unknown(call, "endpoint");
      return end_change();
    }
    then(Endpoint(*known));
  });
}

void ApiHandler::change_endpoint(const Call& call) {
  change_known(call, [this, call](Endpoint&& endpoint) {
    const http::EgressGuard* const guard = options_.guard ? &*options_.guard : nullptr;
    if (const auto error =
            apply_endpoint_change(call.exchange->request().body, guard, endpoint.config)) {
      refuse(call, *error);
      return end_change();
    }
    put_endpoint(call, std::move(endpoint), false);
  });
}

void ApiHandler::rotate_secret(const Call& call) {
  auto rotation = parse_rotation(call.exchange->request().body);
  if (!rotation) return refuse(call, rotation.error());
  change_known(call, [this, call, rotation = *std::move(rotation)](Endpoint&& endpoint) {
    rotate(endpoint.config, rotation, now_());
    put_endpoint(call, std::move(endpoint), false);
  });
}

void ApiHandler::revoke_secrets(const Call& call) {
  change_known(call, [this, call](Endpoint&& endpoint) {
    endpoint.config.secrets.resize(1);
    put_endpoint(call, std::move(endpoint), false);
  });
}

void ApiHandler::remove_endpoint(const Call& call) {
  change_known(call, [this, call](Endpoint&& endpoint) {
    directory_.remove(endpoint.id);
    const Id id = endpoint.id;
    store_.remove_endpoint(
        id, back<Store::Nothing>(call, [this, call, endpoint = std::move(endpoint)](
                                           Expected<Store::Nothing, StoreError>& done) {
          if (done) {
            deliveries_.on_changed(endpoint.id);
            forget_holds({.application = call.application, .endpoint = endpoint.id}, true);
            respond(call, {});
          } else {
            directory_.put(endpoint);
            refuse(call, done.error());
          }
          end_change();
        }));
  });
}

}  // namespace damper::webhooks
