// A fleet's policy from a real etcd, which is killed and comes back.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "damper/proxy/control/base64.h"
#include "proxy_program.h"

namespace damper::proxy_program {
namespace {

namespace fs = std::filesystem;

class ProxyFleet : public testing::Test {
 protected:
  ProxyFleet() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const int one = listening_socket();
    const int two = listening_socket();
    port_ = port_of(one);
    peer_ = port_of(two);
    close(one);
    close(two);
    start();
  }
  ~ProxyFleet() override {
    etcd_.reset();
    fs::remove_all(folder_);
  }

  void start() {
    const std::string client = "http://127.0.0.1:" + std::to_string(port_);
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_);
    etcd_.emplace(std::vector<std::string>{
        "/bin/sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh", "etcd", "--data-dir",
        (folder_ / "etcd").string(), "--listen-client-urls", client, "--advertise-client-urls",
        client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
        "--initial-cluster", "default=" + peer});
  }
  // Until etcd has taken it.
  void put(const std::string& key, const std::string& value) const {
    const std::string body = R"({"key":")" + proxy::to_base64("/damper/test/" + key) +
                             R"(","value":")" + proxy::to_base64(value) + "\"}";
    for (int i = 0; i < 500; ++i) {
      if (post(port_, "/v3/kv/put", body).starts_with("HTTP/1.1 200")) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "etcd does not answer";
  }
  void remove(const std::string& key) const {
    (void)post(port_, "/v3/kv/deleterange",
               R"({"key":")" + proxy::to_base64("/damper/test/" + key) + "\"}");
  }
  [[nodiscard]] std::vector<std::string> arguments() const {
    return {"--control",   "etcd://127.0.0.1:" + std::to_string(port_) + "/damper/test",
            "--state-dir", (folder_ / "state").string(),
            "--admin",     ":0"};
  }
  static std::string config(const std::string& to) {
    return "listeners: {web: {address: ':0'}}\nclusters: {c: {endpoints: [" + to + "]}}\n";
  }

  const fs::path folder_ = fs::temp_directory_path() / ("damper-etcd-" + std::to_string(getpid()));
  std::uint16_t port_ = 0;
  std::uint16_t peer_ = 0;
  std::optional<drills::Process> etcd_;
  const Backend a_{"A"};
  const Backend b_{"B"};
};

TEST_F(ProxyFleet, PolicyAndSwitchesArriveAndEtcdsEndHasNoEffect) {
  put("policy", config(a_.url()));
  Program one(arguments());
  ASSERT_TRUE(one.wait_until_it_serves());
  EXPECT_EQ(get(one.port, "/"), "A");

  put("policy", config(b_.url()));
  EXPECT_NE(one.wait_for("policy_reloaded"), "");
  EXPECT_EQ(get(one.port, "/"), "B");
  put("policy", "nonsense: 1\n");
  EXPECT_NE(one.wait_for("policy_refused"), "");
  EXPECT_EQ(get(one.port, "/"), "B");

  put("switches/process", R"({"switch":"retries","off":true,"reason":"drill"})");
  EXPECT_NE(one.wait_for("switch_flipped").find("drill"), std::string::npos);
  EXPECT_NE(get(one.admin, "/switches").find("drill"), std::string::npos);
  remove("switches/process");
  EXPECT_NE(one.wait_for("switch_flipped"), "");
  EXPECT_EQ(get(one.admin, "/switches").find("drill"), std::string::npos);

  etcd_->kill();
  EXPECT_NE(one.wait_for("control_lost"), "");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(one.port, "/"), "B");
  EXPECT_NE(get(one.admin, "/metrics").find("damper_control_connected 0"), std::string::npos);
  EXPECT_EQ(one.process.stop(), 0);

  // A new one, while etcd is away: the last good copy.
  Program two(arguments());
  ASSERT_TRUE(two.wait_until_it_serves());
  EXPECT_EQ(get(two.port, "/"), "B");
  start();
  put("policy", config(a_.url()));
  EXPECT_NE(two.wait_for("policy_reloaded"), "");
  EXPECT_EQ(get(two.port, "/"), "A");
  EXPECT_EQ(two.process.stop(), 0);
}

TEST_F(ProxyFleet, APolicyThatCannotBeStartedWithLeavesTheFile) {
  const std::string file = (folder_ / "damper.yaml").string();
  std::ofstream(file) << config(a_.url());
  put("policy",
      "listeners: {web: {address: ':0', tls: {certificate_file: /nowhere, key_file: /nowhere}}}\n"
      "clusters: {c: {endpoints: [" +
          b_.url() + "]}}\n");
  std::vector<std::string> with_file = arguments();
  with_file.insert(with_file.end(), {"-c", file});
  Program one(with_file);
  ASSERT_TRUE(one.wait_until_it_serves());
  EXPECT_EQ(get(one.port, "/"), "A");
  put("policy", config(b_.url()));
  EXPECT_NE(one.wait_for("policy_reloaded"), "");
  EXPECT_EQ(get(one.port, "/"), "B");
  EXPECT_EQ(one.process.stop(), 0);
}

}  // namespace
}  // namespace damper::proxy_program
