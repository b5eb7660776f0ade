#include "damper/webhooks/process/webhook_server.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "damper/http/net/address_class.h"
#include "damper/http/spans/span_texts.h"
#include "damper/http/trace/traced.h"
#include "damper/run/clock.h"
#include "damper/store/postgres/postgres_url.h"
#include "damper/webhooks/process/attempt_log.h"
#include "damper/webhooks/process/key_file.h"
#include "damper/webhooks/process/proxy_credentials.h"
#include "damper/webhooks/store/postgres/postgres_store.h"
#include "damper/webhooks/store/sqlite_store.h"

namespace damper::webhooks {
namespace {

constexpr Duration kPrunePause = std::chrono::minutes(1);
constexpr Duration kCountPause = std::chrono::seconds(15);
constexpr std::size_t kResealedAtOnce = 256;
constexpr const char* kDefaultApplication = "default";

[[nodiscard]] ApiOptions api_options(const ServeOptions& options, std::optional<ApiTokens> tokens) {
  ApiOptions api;
  const auto address = http::IpAddress::find(options.listen.host);
  api.loopback = address && http::class_of(*address) == http::AddressClass::loopback;
  api.tokens = std::move(tokens);
  api.max_payload = options.max_payload;
  api.guard = options.dispatcher.guard;
  return api;
}

[[nodiscard]] Expected<std::unique_ptr<Store>> open_store(
    const std::string& where, const std::shared_ptr<const Sealer>& sealer,
    const std::shared_ptr<std::atomic<std::size_t>>& old_seals) {
  const auto seal = [sealer](Id endpoint, std::string_view plain) {
    return sealer->seal(endpoint, plain);
  };
  const auto unseal = [sealer, old_seals](Id endpoint, std::string_view sealed) {
    if (sealer->is_of_old_key(sealed)) ++*old_seals;
    return sealer->unseal(endpoint, sealed);
  };
  if (store::is_postgres_url(where)) {
    return PostgresStore::open({.url = where, .seal = seal, .unseal = unseal});
  }
  return SqliteStore::open({.path = where, .seal = seal, .unseal = unseal});
}

[[nodiscard]] std::uint32_t random_bits() noexcept {
  return static_cast<std::uint32_t>(run::draw() * 4294967296.0);
}

// By what is held, and of whom: all, an application, an endpoint.
void write_holds(observe::Exposition& out, const std::vector<HoldView>& holds) {
  constexpr std::array<std::string_view, 3> kScopes = {"all", "application", "endpoint"};
  std::array<std::array<int, kScopes.size()>, kHoldNames.size()> counts{};
  for (const HoldView& view : holds) {
    const std::size_t scope = view.scope.endpoint ? 2 : view.scope.application.empty() ? 0 : 1;
    ++counts[static_cast<std::size_t>(view.which)][scope];
  }
  for (std::size_t which = 0; which < counts.size(); ++which) {
    for (std::size_t scope = 0; scope < kScopes.size(); ++scope) {
      out.gauge("damper_webhooks_held",
                "Switches by which an operator holds deliveries or retries.",
                {{"what", std::string(kHoldNames.begin()[which])},
                 {"scope", std::string(kScopes[scope])}},
                counts[which][scope]);
    }
  }
}

void write_survey(observe::Exposition& out, const DispatchSurvey& survey) {
  using admit::BreakerState;
  for (const BreakerState state :
       {BreakerState::closed, BreakerState::open, BreakerState::half_open}) {
    out.gauge("damper_webhooks_breakers", "Endpoints by the state of their breaker.",
              {{"state", std::string(admit::name(state))}},
              survey.breakers[static_cast<std::size_t>(state)]);
  }
  out.gauge("damper_webhooks_disabled_endpoints", "Endpoints that are disabled.", {},
            survey.disabled);
  for (const Verdict verdict : {Verdict::pushed_back, Verdict::limited, Verdict::breaker_open,
                                Verdict::rate_limited, Verdict::switched_off}) {
    out.gauge("damper_webhooks_blocked_endpoints",
              "Endpoints with due deliveries of which none may start, by the reason.",
              {{"reason", std::string(name(verdict))}},
              survey.blocked[static_cast<std::size_t>(verdict)]);
  }
  out.gauge("damper_webhooks_oldest_due_seconds",
            "How long the due delivery that has waited longest is due.", {},
            std::chrono::duration<double>(survey.oldest_due).count());
}

}  // namespace

Expected<std::unique_ptr<WebhookServer>> WebhookServer::open(http::Loop& loop, ServeOptions options,
                                                             WriteLine log) {
  std::optional<ApiTokens> tokens;
  if (!options.token_file.empty()) {
    auto read = ApiTokens::read(options.token_file);
    if (!read) return unexpected(read.error());
    tokens = *std::move(read);
  }
  if (!options.proxy_credentials_file.empty()) {
    auto read = read_proxy_credentials(options.proxy_credentials_file);
    if (!read) return unexpected(read.error());
    options.dispatcher.proxy->credentials = *std::move(read);
  }
  auto keys = open_sealer(options);
  if (!keys) return unexpected(keys.error());
  std::unique_ptr<http::TraceExporter> exporter;
  if (options.tracing) {
    try {
      exporter = std::make_unique<http::TraceExporter>(*options.tracing);
    } catch (const std::system_error& failed) {
      return unexpected(std::string("tracing: cannot start a thread: ") + failed.what());
    }
  }
  const auto sealer = std::make_shared<const Sealer>(*std::move(keys));
  OldSeals old_seals = std::make_shared<std::atomic<std::size_t>>(0);
  auto store = open_store(options.store, sealer, old_seals);
  if (!store) return unexpected(store.error());
  return std::unique_ptr<WebhookServer>(
      new WebhookServer(loop, std::move(options), *std::move(store), std::move(old_seals),
                        std::move(tokens), std::move(exporter), std::move(log)));
}

WebhookServer::WebhookServer(http::Loop& loop, ServeOptions options, std::unique_ptr<Store> store,
                             OldSeals old_seals, std::optional<ApiTokens> tokens,
                             std::unique_ptr<http::TraceExporter> exporter, WriteLine log)
    : loop_(loop),
      options_(std::move(options)),
      log_(std::move(log)),
      store_(std::move(store)),
      old_seals_(std::move(old_seals)),
      metrics_(registry_, "webhooks"),
      ids_(random_bits()),
      exporter_(std::move(exporter)),
      tracer_(exporter_ != nullptr ? exporter_->make_tracer() : nullptr),
      pruner_(loop, *this, &WebhookServer::prune),
      counter_(loop, *this, &WebhookServer::count),
      drain_end_(loop, *this, &WebhookServer::on_drained) {
  if (tracer_ != nullptr) options_.dispatcher.tracer = tracer_.get();
  dispatcher_.emplace(loop_, *store_, directory_, dispatcher_options(options_),
                      [this](const DeliveryEvent& event) { on_event(event); });
  ApiOptions api = api_options(options_, std::move(tokens));
  api.on_store_error = [this](std::string_view reference, std::string_view sentence) {
    log_(log_line(run::wall_time(), "store_error",
                  "reference=" + std::string(reference) + " " + std::string(sentence)));
  };
  max_request_body_ = max_request_body(api);
  api_.emplace(
      *store_, directory_, *dispatcher_, IdMaker(random_bits()), [] { return run::wall_time(); },
      api);
  dispatcher_->set_write_disabled([this](const Endpoint& endpoint) {
    api_->disable(endpoint, [this](std::function<void()> then) { loop_.post(std::move(then)); });
  });
  api_handler_ = make_api_handler();
  metrics_handler_ = http::make_metrics_handler(registry_);
  make_metrics();
}

WebhookServer::~WebhookServer() {
  *alive_ = false;
  api_->close();
  server_.reset();
  service_.reset();
  api_->close();
  // The dispatcher's results that the store still has are written: its destructor completes them.
  dispatcher_.reset();
  store_.reset();
  exporter_.reset();  // The tracer may outlive it.
  loop_.poll();       // What the store has posted refers to the API.
}

void WebhookServer::on_event(const DeliveryEvent& event) {
  using Kind = DeliveryEvent::Kind;
  events_[static_cast<std::size_t>(event.kind)]->add();
  if (event.kind == Kind::first_attempt || event.kind == Kind::retry_attempt) {
    attempts_[static_cast<std::size_t>(event.outcome)]->add();
    seconds_->observe(std::chrono::duration<double>(event.duration).count());
  } else if (auto notice = notices_.on_event(event, run::wall_time())) {
    send_notice(*std::move(notice));
  }
  if (is_logged(event, options_.log_attempts)) log_(event_line(event, run::wall_time()));
}

void WebhookServer::send_notice(NewMessage notice) {
  notice.message.id = ids_.next(notice.message.created);
  const std::vector<Id> endpoints = notice.endpoints;
  const UnixTime due = notice.message.created;
  store_->accept(std::move(notice), [this, alive = alive_, endpoints,
                                     due](const Expected<Accepted, StoreError>& accepted) {
    const std::string error = accepted ? "" : accepted.error().sentence;
    loop_.post([this, alive, endpoints, due, error] {
      if (!*alive) return;
      if (error.empty()) return dispatcher_->on_due(endpoints, due);
      log_(log_line(run::wall_time(), "notice_lost", error));
    });
  });
}

void WebhookServer::count(Instant now) {
  counter_.arm(add(now, kCountPause));
  store_->count([this, alive = alive_](const Expected<StoreCounts, StoreError>& counts) {
    if (!counts) return;
    loop_.post([this, alive, counts = *counts] {
      if (*alive) counts_ = counts;
    });
  });
}

void WebhookServer::make_metrics() {
  seconds_ = &registry_.histogram("damper_webhooks_attempt_seconds", "How long attempts took.",
                                  observe::latency_bounds());
  for (std::size_t i = 0; i < kDeliveryEventNames.size(); ++i) {
    events_[i] = &registry_.counter("damper_webhooks_events_total",
                                    "Events of deliveries and endpoints, as in the log.",
                                    {{"event", std::string(kDeliveryEventNames.begin()[i])}});
  }
  for (std::size_t i = 0; i < decide::kOutcomeNames.size(); ++i) {
    attempts_[i] =
        &registry_.counter("damper_webhooks_attempts_total", "Attempts by their outcome.",
                           {{"outcome", std::string(decide::kOutcomeNames.begin()[i])}});
  }
  totals_ = registry_.collect([this](observe::Exposition& out) {
    const DeliveryTotals totals = dispatcher_->totals();
    out.counter("damper_webhooks_delivered_total", "Deliveries that were accepted.", {},
                totals.delivered);
    out.counter("damper_webhooks_dead_total", "Deliveries that became dead letters.", {},
                totals.dead);
    out.counter("damper_webhooks_proxy_failures_total",
                "Attempts that the egress proxy did not let through; they do not count.", {},
                totals.proxy_failures);
    out.gauge("damper_webhooks_in_flight", "Attempts in flight.", {}, totals.in_flight);
    out.gauge("damper_webhooks_endpoints", "Configured endpoints.", {}, directory_.size());
    out.gauge("damper_webhooks_api_waiting", "Requests to the API that wait for the store.", {},
              api_->waiting());
    out.counter("damper_webhooks_probes_total",
                "Attempts that test an endpoint whose breaker was open.", {}, totals.probes);
    write_survey(out, dispatcher_->survey());
    if (counts_) {
      out.gauge("damper_webhooks_waiting", "Deliveries that wait, as of the last 15 s.", {},
                counts_->waiting);
      out.gauge("damper_webhooks_dead_letters", "Dead letters in the store, as of the last 15 s.",
                {}, counts_->dead);
      out.gauge("damper_webhooks_messages", "Messages in the store, as of the last 15 s.", {},
                counts_->messages);
    }
    write_holds(out, dispatcher_->holds());
    if (exporter_ != nullptr) http::write_trace_metrics(exporter_->counts(), out);
  });
}

http::Handler WebhookServer::make_api_handler() {
  observe::Tracer* const tracer = options_.dispatcher.tracer;
  if (tracer == nullptr) return api_->handler();
  return http::traced(
      api_->handler(), *tracer,
      {.find_route =
           [](const http::Request& request) {
             const RouteMatch match = find_route(request.method, http::path_of(request.target));
             return match.route != nullptr ? match.route->path : std::string_view();
           },
       .is_trusted = [this](const http::Request& request) { return api_->is_known(request); }});
}

void WebhookServer::answer(const http::ExchangePtr& exchange) {
  if (exchange->request().target == "/metrics") return metrics_handler_(exchange);
  api_handler_(exchange);
}

void WebhookServer::start(const std::function<void(std::optional<std::string>)>& done) {
  store_->put_application(
      kDefaultApplication, run::wall_time(),
      [this, alive = alive_, done](const Expected<Store::Nothing, StoreError>& result) {
        const bool exists = !result && result.error().kind == StoreError::Kind::exists;
        const std::string error = result || exists ? "" : result.error().sentence;
        loop_.post([this, alive, done, error] {
          if (!*alive) return;
          if (!error.empty()) return done(error);
          dispatcher_->start([this, done](std::optional<std::string> failed) {
            if (failed) return done(std::move(failed));
            reseal([this, done] { done(serve()); });
          });
        });
      });
}

// Before the API is served: a change of an endpoint must not be overwritten.
void WebhookServer::reseal(const std::function<void()>& done) {
  if (old_seals_->load() == 0) return done();
  auto left = std::make_shared<std::vector<Id>>();
  for (const std::string& application : directory_.applications()) {
    for (const Endpoint* const endpoint : directory_.endpoints_of(application)) {
      left->push_back(endpoint->id);
    }
  }
  log_(log_line(run::wall_time(), "endpoints_resealed", "count=" + std::to_string(left->size())));
  reseal_some(left, done);
}

void WebhookServer::reseal_some(const std::shared_ptr<std::vector<Id>>& left,
                                const std::function<void()>& done) {
  std::vector<Endpoint> batch;
  for (; !left->empty() && batch.size() < kResealedAtOnce; left->pop_back()) {
    const Endpoint* const known = directory_.find(left->back());
    if (known != nullptr) batch.push_back(*known);
  }
  if (batch.empty()) return done();
  const auto pending = std::make_shared<std::size_t>(batch.size());
  for (const Endpoint& endpoint : batch) {
    store_->put_endpoint(
        endpoint, [this, alive = alive_, left, done, pending, id = endpoint.id,
                   version = endpoint.version](const Expected<Store::Nothing, StoreError>& put) {
          const std::string error = put ? "" : put.error().sentence;
          loop_.post([this, alive, left, done, pending, error, id, version] {
            if (!*alive) return;
            if (error.empty()) {
              directory_.on_written(id, version);
            } else {
              log_(log_line(run::wall_time(), "store_error", error));
            }
            if (--*pending == 0) reseal_some(left, done);
          });
        });
  }
}

std::optional<std::string> WebhookServer::serve() {
  http::ServerOptions options;
  options.address = options_.listen.host;
  options.port = options_.listen.port;
  service_.emplace(
      loop_, [this](const http::ExchangePtr& exchange) { answer(exchange); },
      http::HandlerServiceOptions{.max_request_body = max_request_body_}, &metrics_);
  server_.emplace(loop_, options, *service_, &metrics_);
  if (auto error = server_->listen()) return error;
  pruner_.arm(add(loop_.now(), kPrunePause));
  counter_.arm(loop_.now());
  return std::nullopt;
}

void WebhookServer::prune(Instant now) {
  pruner_.arm(add(now, kPrunePause));
  const UnixTime wall = run::wall_time();
  const auto before = [wall](Duration kept) {
    return wall - std::chrono::ceil<std::chrono::milliseconds>(kept);
  };
  const Retention retention{.messages_before = before(options_.keep_messages),
                            .dead_before = before(options_.keep_dead_letters),
                            .most_attempts = options_.keep_attempts};
  store_->prune(retention, [this, alive = alive_](const Expected<std::int64_t, StoreError>& rows) {
    if (!rows || *rows == 0) return;
    loop_.post([this, alive] {
      if (*alive) pruner_.arm(loop_.now());  // There may be more.
    });
  });
}

void WebhookServer::drain(std::function<void()> done) {
  drained_ = std::move(done);
  pruner_.cancel();
  counter_.cancel();
  if (server_) server_->drain(options_.drain_time);
  drain_end_.arm(add(loop_.now(), options_.drain_time));
  dispatcher_->drain([this] {
    if (!exporting_) drain_end_.arm(loop_.now());
  });
}

void WebhookServer::on_drained(Instant now) {
  if (exporter_ != nullptr && drained_ != nullptr && !exporting_) {
    exporting_ = true;
    drain_end_.arm(add(now, std::min(options_.drain_time, kTraceDrain)));
    return exporter_->drain([this, alive = alive_, &loop = loop_] {
      loop.post([this, alive] {
        if (*alive) drain_end_.arm(loop_.now());
      });
    });
  }
  if (const std::function<void()> done = std::exchange(drained_, nullptr)) done();
}

}  // namespace damper::webhooks
