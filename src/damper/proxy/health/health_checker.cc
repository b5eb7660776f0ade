#include "damper/proxy/health/health_checker.h"

#include <algorithm>
#include <deque>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "damper/balance/replica_options.h"
#include "damper/http/net/loop.h"
#include "damper/observe/process_event.h"
#include "damper/proxy/health/health_probe.h"
#include "damper/run/clock.h"

namespace damper::proxy {

class HealthChecker::Running final : private http::Loop::TurnEnd {
 public:
  Running(engine::EventSink* events, const Changed& changed)
      : TurnEnd(loop_), events_(events), changed_(changed), work_(loop_), thread_([this] {
          loop_.run();
        }) {}
  ~Running() override {
    loop_.stop();
    thread_.join();
    clusters_.clear();  // Before the loop.
    cancel_turn_end();
  }

  void use(std::vector<CheckedCluster> clusters) {
    loop_.post([this, next = std::move(clusters)]() mutable { apply(std::move(next)); });
  }

 private:
  class Cluster;

  // One replica: its state, its probe, and when that is due.
  class Replica final : private http::Loop::Timer {
   public:
    Replica(Cluster& cluster, std::string name, const http::Endpoint& endpoint);
    ~Replica() override;

    // After a reload: its options, or the settings of its connections, have changed.
    void renew();
    void start();
    [[nodiscard]] const http::Endpoint& endpoint() const noexcept { return endpoint_; }
    [[nodiscard]] HealthState state() const noexcept { return health_.state(); }

   private:
    void on_timer(Instant now) override;
    void on_probe(ProbeOutcome outcome, const std::string& reason);

    Cluster& cluster_;
    const std::string name_;
    const http::Endpoint endpoint_;
    ReplicaHealth health_;
    Instant since_;
    bool in_flight_ = false;
    std::unique_ptr<HealthProbe> probe_;
  };

  class Cluster {
   public:
    Cluster(Running& owner, CheckedCluster config)
        : running(owner), config_(std::move(config)), parts_(make_parts()) {
      settle();
    }

    void reload(CheckedCluster config) {
      const bool same = config_.options == config.options && config_.dialer == config.dialer &&
                        config_.pool == config.pool && config_.tls_options == config.tls_options &&
                        config_.tls.has_value() == config.tls.has_value();
      config_ = std::move(config);
      if (same) {
        parts_->tls = config_.tls;  // Files may have changed: connections from now on.
      } else {
        const std::unique_ptr<Parts> before = std::exchange(parts_, make_parts());
        for (const auto& [name, replica] : replicas_) replica->renew();
      }
      settle();
    }
    [[nodiscard]] std::unique_ptr<HealthProbe> make_probe(const http::Endpoint& endpoint,
                                                          HealthProbe::Done done) {
      return std::make_unique<HealthProbe>(parts_->dialer, endpoint, config_.options,
                                           pool_options(), endpoint.tls ? &*parts_->tls : nullptr,
                                           parts_->metrics, std::move(done));
    }
    // `length`: of the previous state.
    void on_change(const std::string& replica, HealthState state, const std::string& reason,
                   Duration length, Instant now) {
      const bool healthy = state == HealthState::healthy;
      config_.health->set(replica, {.state = state, .reason = reason, .since = now});
      running.emit({.kind = healthy ? observe::ProcessEvent::replica_healthy
                                    : observe::ProcessEvent::replica_unhealthy,
                    .key = config_.name,
                    .at = now,
                    .length = healthy ? length : Duration{0},
                    .detail = healthy ? replica : replica + ": " + reason});
      look_for_panic(now);
      running.changed_(config_.name);
    }
    void on_reason(const std::string& replica, HealthState state, const std::string& reason,
                   Instant since) {
      config_.health->set(replica, {.state = state, .reason = reason, .since = since});
    }
    void count(ProbeOutcome outcome) noexcept { config_.health->count(outcome); }
    [[nodiscard]] const HealthCheckOptions& options() const noexcept { return config_.options; }
    // The loops have no verdicts of it any more.
    void forget() {
      for (const auto& [name, replica] : replicas_) config_.health->erase(name);
      config_.health->set_ignored(false);
      replicas_.clear();
      running.changed_(config_.name);
    }

    Running& running;

   private:
    struct Parts {
      Parts(http::Loop& loop, const http::DialerOptions& options,
            const std::optional<http::TlsSettings>& used_tls)
          : dialer(loop, options), tls(used_tls) {}
      http::Dialer dialer;
      std::optional<http::TlsSettings> tls;
      http::ClientMetrics metrics;
    };

    [[nodiscard]] std::unique_ptr<Parts> make_parts() {
      http::DialerOptions dialer = config_.dialer;
      dialer.connect_timeout =
          http::DialerOptions::kConnectTimeout.high;  // The probe's is shorter.
      return std::make_unique<Parts>(running.loop_, dialer, config_.tls);
    }
    [[nodiscard]] http::PoolOptions pool_options() const {
      http::PoolOptions options = config_.pool;
      options.max_connections = 1;
      options.max_waiting = 1;
      if (config_.options.type == HealthCheckType::grpc) options.plain = http::Protocol::h2;
      return options;
    }
    // Adds and removes replicas to match the configuration.
    void settle() {
      std::erase_if(replicas_, [&](const auto& entry) {
        const auto stays = [&](const CheckedCluster::Replica& one) {
          return one.name == entry.first && one.endpoint == entry.second->endpoint();
        };
        if (std::any_of(config_.replicas.begin(), config_.replicas.end(), stays)) return false;
        config_.health->erase(entry.first);
        return true;
      });
      for (const CheckedCluster::Replica& one : config_.replicas) {
        if (replicas_.contains(one.name)) continue;
        replicas_[one.name] = std::make_unique<Replica>(*this, one.name, one.endpoint);
        config_.health->set(one.name, {.since = running.loop_.now()});
      }
      look_for_panic(running.loop_.now());
    }
    void look_for_panic(Instant now) {
      const auto unhealthy = std::count_if(replicas_.begin(), replicas_.end(), [](const auto& one) {
        return one.second->state() == HealthState::unhealthy;
      });
      const std::size_t healthy = replicas_.size() - static_cast<std::size_t>(unhealthy);
      const bool ignored = !replicas_.empty() && balance::ignores_checks(healthy, replicas_.size(),
                                                                         config_.panic_threshold);
      if (ignored == config_.health->is_ignored()) return;
      config_.health->set_ignored(ignored);
      const std::string detail = std::to_string(healthy) + " of " +
                                 std::to_string(replicas_.size()) + " replicas are healthy";
      running.emit({.kind = ignored ? observe::ProcessEvent::health_checks_ignored
                                    : observe::ProcessEvent::health_checks_used,
                    .key = config_.name,
                    .at = now,
                    .detail = detail});
    }

    CheckedCluster config_;
    std::unique_ptr<Parts> parts_;  // outlives the replicas
    std::map<std::string, std::unique_ptr<Replica>> replicas_;
  };

  void apply(std::vector<CheckedCluster> next) {
    std::map<std::string, std::unique_ptr<Cluster>> before = std::exchange(clusters_, {});
    for (CheckedCluster& one : next) {
      const std::string name = one.name;
      if (auto known = before.extract(name); !known.empty()) {
        known.mapped()->reload(std::move(one));
        clusters_[name] = std::move(known.mapped());
      } else {
        clusters_[name] = std::make_unique<Cluster>(*this, std::move(one));
      }
    }
    for (const auto& [name, cluster] : before) cluster->forget();
  }
  void emit(const engine::Event& event) {
    if (events_ != nullptr) events_->on_event(event);
  }

  // ---- Places for probes
  void enqueue(Replica& replica) {
    waiting_.push_back(&replica);
    ask_turn_end();
  }
  void forget(Replica& replica, bool in_flight) {
    std::erase(waiting_, &replica);
    if (in_flight) on_probe_over();
  }
  void on_probe_over() {
    --in_flight_;
    if (!waiting_.empty()) ask_turn_end();
  }
  // Not from within a call of a probe: one that fails at once would start the next one below it.
  void on_turn_end() override {
    while (!waiting_.empty() && in_flight_ < kMostProbes) {
      Replica* const next = waiting_.front();
      waiting_.pop_front();
      ++in_flight_;
      next->start();
    }
  }

  http::Loop loop_;
  engine::EventSink* const events_;
  const Changed& changed_;
  std::deque<Replica*> waiting_;  // for a place
  std::size_t in_flight_ = 0;
  std::map<std::string, std::unique_ptr<Cluster>> clusters_;
  http::Loop::Work work_;
  std::thread thread_;
};

HealthChecker::Running::Replica::Replica(Cluster& cluster, std::string name,
                                         const http::Endpoint& endpoint)
    : Timer(cluster.running.loop_),
      cluster_(cluster),
      name_(std::move(name)),
      endpoint_(endpoint),
      health_(cluster.options(), loop().now(), run::draw()),
      since_(loop().now()) {
  renew();
}

HealthChecker::Running::Replica::~Replica() { cluster_.running.forget(*this, in_flight_); }

void HealthChecker::Running::Replica::renew() {
  cluster_.running.forget(*this, std::exchange(in_flight_, false));
  probe_ = cluster_.make_probe(endpoint_, [this](ProbeOutcome outcome, const std::string& reason) {
    on_probe(outcome, reason);
  });
  health_.reload(cluster_.options(), loop().now(), run::draw());
  arm(health_.due());
}

void HealthChecker::Running::Replica::on_timer(Instant /*now*/) { cluster_.running.enqueue(*this); }

void HealthChecker::Running::Replica::start() {
  in_flight_ = true;
  probe_->start();
}

void HealthChecker::Running::Replica::on_probe(ProbeOutcome outcome, const std::string& reason) {
  const Instant now = loop().now();
  in_flight_ = false;
  cluster_.running.on_probe_over();
  cluster_.count(outcome);
  if (health_.on_probe(outcome, now, run::draw())) {
    cluster_.on_change(name_, health_.state(), reason, between(since_, now), now);
    since_ = now;
  } else if (outcome == ProbeOutcome::failed) {
    cluster_.on_reason(name_, health_.state(), reason, since_);
  }
  arm(health_.due());
}

HealthChecker::HealthChecker(engine::EventSink* events, Changed changed)
    : events_(events), changed_(std::move(changed)) {}

HealthChecker::~HealthChecker() = default;

void HealthChecker::use(std::vector<CheckedCluster> clusters) {
  if (running_ == nullptr) {
    if (clusters.empty()) return;
    try {
      running_ = std::make_unique<Running>(events_, changed_);
    } catch (const std::system_error& failed) {  // No check is better than no proxy.
      if (events_ == nullptr) return;
      const std::string detail = std::string("cannot start a thread: ") + failed.what();
      return events_->on_event({.kind = observe::ProcessEvent::health_checks_ignored,
                                .key = "proxy",
                                .at = run::now(),
                                .detail = detail});
    }
  }
  running_->use(std::move(clusters));
}

}  // namespace damper::proxy
