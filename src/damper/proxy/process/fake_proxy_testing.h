#ifndef DAMPER_PROXY_PROCESS_FAKE_PROXY_TESTING_H_
#define DAMPER_PROXY_PROCESS_FAKE_PROXY_TESTING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "damper/proxy/data/proxy.h"

namespace damper::proxy {

// A proxy without a wire, which says what it was given.
class FakeProxy final : public Proxy {
 public:
  std::optional<std::string> reload(const ProxyConfig& config) override {
    if (refuses) return "the port is taken";
    given = config.clusters.at(0).endpoints.at(0);
    ++version_;
    return std::nullopt;
  }
  void drain(Duration /*within*/) override {}
  std::shared_ptr<const ProxyConfig> config() const override { return config_; }
  std::uint64_t version() const override { return version_; }
  ProxyState state() override { return {}; }
  observe::Registry& registry() override { return registry_; }
  std::vector<InheritedSocket> sockets() const override { return {}; }
  std::uint16_t port(std::string_view /*listener*/) const override { return 0; }
  std::optional<std::string> flip(std::string_view /*scope*/, admit::Switch /*which*/,
                                  const admit::SwitchSetting& /*setting*/) override {
    return std::nullopt;
  }
  std::vector<ScopeState> switches() const override { return {}; }

  std::string given;
  bool refuses = false;
  AdminConfig& admin() { return *config_->admin; }  // what it runs with

 private:
  std::uint64_t version_ = 1;
  const std::shared_ptr<ProxyConfig> config_ = [] {
    auto out = std::make_shared<ProxyConfig>();
    out->admin.emplace();
    return out;
  }();
  observe::Registry registry_;
};

}  // namespace damper::proxy

#endif  // DAMPER_PROXY_PROCESS_FAKE_PROXY_TESTING_H_
