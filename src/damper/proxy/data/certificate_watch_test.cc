#include "damper/proxy/data/certificate_watch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "damper/http/net/net_testing.h"

namespace damper::proxy {
namespace {

class KeptEvents final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) noexcept override { all.emplace_back(event.detail); }
  std::vector<std::string> all;
};

// A listener with the files of one certificate, as they are read at the start.
class Watched : public testing::Test {
 protected:
  Watched() {
    std::string name = "/tmp/damper-watch-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    write(http::make_certificate("one"));
    ProxyConfig config;
    ListenerConfig& listener = config.listeners.emplace_back();
    listener.name = "web";
    listener.tls.emplace();
    listener.tls->identity.certificate_file = folder_ + "/crt";
    listener.tls->identity.key_file = folder_ + "/key";
    in_force_->listeners.push_back({.sockets = nullptr,
                                    .tls = *make_server_tls(listener, nullptr),
                                    .stamps = stamp_files(tls_files(listener))});
    in_force_->config = std::make_shared<const ProxyConfig>(config);
  }
  ~Watched() override { std::filesystem::remove_all(folder_); }

  void write(const http::TestCertificate& made) const {
    put("crt", made.certificate_pem);
    put("key", made.key_pem);
  }
  // A new file: its inode differs, whatever the clock says.
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/next") << text;
    std::filesystem::rename(folder_ + "/next", folder_ + '/' + name);
  }
  bool look() {
    auto next = watch_.look(*in_force_, Instant{}, std::time(nullptr) - 30 * 86400);
    if (next == nullptr) return false;
    in_force_ = std::move(next);
    return true;
  }
  [[nodiscard]] std::string name() const {
    return in_force_->listeners[0].tls->certificates()[0].names.at(0);
  }

  std::string folder_;
  std::shared_ptr<ProxyGeneration> in_force_ = std::make_shared<ProxyGeneration>();
  observe::Registry registry_;
  KeptEvents events_;
  CertificateWatch watch_{registry_, &events_};
};

TEST_F(Watched, FilesThatHaveChangedAreReadOnceTheyAreTheSameForTwoLooks) {
  EXPECT_FALSE(look());
  write(http::make_certificate("two"));
  EXPECT_FALSE(look());
  put("crt", "half");  // It is still being written.
  EXPECT_FALSE(look());
  write(http::make_certificate("three"));
  EXPECT_FALSE(look());
  EXPECT_TRUE(look());
  EXPECT_EQ(name(), "three");
  EXPECT_FALSE(look());
  EXPECT_EQ(events_.all, std::vector<std::string>{"listener web"});
}

// Invariant (1).
TEST_F(Watched, AKeyOfAnotherCertificateIsRefusedAndReportedOnce) {
  const http::TestCertificate two = http::make_certificate("two");
  put("crt", two.certificate_pem);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(look());
  EXPECT_EQ(name(), "one");
  ASSERT_EQ(events_.all.size(), 1u);
  EXPECT_EQ(events_.all[0], "listener web: key_file " + folder_ +
                                "/key has no key that fits certificate_file " + folder_ +
                                "/crt; the old one stays in use");
  put("key", two.key_pem);
  EXPECT_FALSE(look());
  EXPECT_TRUE(look());
  EXPECT_EQ(name(), "two");
}

TEST_F(Watched, AnEndThatIsNearIsReportedOnce) {
  const std::int64_t now = std::time(nullptr);
  EXPECT_EQ(watch_.look(*in_force_, Instant{}, now), nullptr);
  EXPECT_EQ(watch_.look(*in_force_, Instant{}, now), nullptr);
  ASSERT_EQ(events_.all.size(), 1u);
  EXPECT_TRUE(
      events_.all[0].starts_with("listener web: certificate_file " + folder_ + "/crt expires in "))
      << events_.all[0];
}

// As --validate, a start and a reload report it.
std::string tls_error(const std::string& text) {
  const auto config = load_proxy(text, "d.yaml");
  EXPECT_TRUE(config) << to_string(config.error());
  const std::string error = find_tls_error(*config).value_or("none");
  return error.substr(0, error.find(" cannot"));
}

TEST(TlsFiles, AnErrorHasThePlaceOfItsKey) {
  const http::TestCertificate made = http::make_certificate("one");
  const std::string crt = testing::TempDir() + "tls_files_crt";
  const std::string key = testing::TempDir() + "tls_files_key";
  std::ofstream(crt) << made.certificate_pem;
  std::ofstream(key) << made.key_pem;
  const auto listener = [](const std::string& tls) {
    return tls_error("listeners:\n  l:\n    address: ':1'\n    tls:\n" + tls +
                     "clusters: {c: {endpoints: http://a}}\n");
  };
  const std::string own = "      certificate_file: " + crt + "\n      key_file: " + key + "\n";
  EXPECT_EQ(listener(own), "none");
  EXPECT_EQ(listener("      certificate_file: /no\n      key_file: /no2\n"),
            "d.yaml:5:25: listener l: certificate_file /no");
  EXPECT_EQ(listener("      certificate_file: " + crt + "\n      key_file: /no2\n"),
            "d.yaml:6:17: listener l: key_file /no2");
  EXPECT_EQ(
      listener("      certificate_file: " + crt + "\n      key_file: " + crt + "\n").substr(0, 36),
      "d.yaml:6:17: listener l: key_file " + crt.substr(0, 2));
  EXPECT_EQ(listener(own + "      client_ca_file: /no3\n"),
            "d.yaml:7:23: listener l: client_ca_file /no3");
  EXPECT_EQ(listener(own + "      certificates: [{certificate_file: /no4, key_file: /no5}]\n"),
            "d.yaml:7:21: listener l: certificate_file /no4");
  const auto cluster = [](const std::string& tls) {
    return tls_error("listeners: {l: {address: ':1'}}\n" +
                     ("clusters: {c: {endpoints: https://a, tls: {" + tls + "}}}\n"));
  };
  EXPECT_EQ(cluster("ca_file: " + crt), "none");
  EXPECT_EQ(cluster("ca_file: /no"), "d.yaml:2:53: cluster c: ca_file /no");
  EXPECT_EQ(cluster("certificate_file: " + crt + ", key_file: /no").substr(0, 7), "d.yaml:");
  const auto tracing = [](const std::string& keys) {
    return tls_error(
        "listeners: {l: {address: ':1'}}\nclusters: {c: {endpoints: http://a}}\n"
        "tracing: {" +
        keys + "}\n");
  };
  EXPECT_EQ(tracing("collector: 'https://a', ca_file: " + crt), "none");
  EXPECT_EQ(tracing("collector: 'https://a', ca_file: /no"),
            "d.yaml:3:44: tracing: tls: ca_file /no");
  EXPECT_EQ(tracing("collector: 'http://a', ca_file: /no"), "none");
}

}  // namespace
}  // namespace damper::proxy
