// A fleet's policy from a real etcd, which is killed and comes back.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "damper/base/text/base64.h"
#include "proxy_program.h"

namespace damper::proxy_program {
namespace {

namespace fs = std::filesystem;

class ProxyFleet : public testing::Test {
 protected:
  ProxyFleet() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    const int sockets[] = {listening_socket(), listening_socket(), listening_socket()};
    port_ = port_of(sockets[0]);
    peer_ = port_of(sockets[1]);
    tls_port_ = port_of(sockets[2]);
    for (const int fd : sockets) close(fd);
  }
  ~ProxyFleet() override {
    etcd_.reset();
    fs::remove_all(folder_);
  }

  void start(const std::vector<std::string>& more = {}) {
    std::string client = "http://127.0.0.1:" + std::to_string(port_);
    if (!more.empty()) client += ",https://127.0.0.1:" + std::to_string(tls_port_);
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_);
    std::vector<std::string> command = {"/bin/sh",
                                        "-c",
                                        "exec \"$@\" >/dev/null 2>&1",
                                        "sh",
                                        "etcd",
                                        "--data-dir",
                                        (folder_ / "etcd").string(),
                                        "--listen-client-urls",
                                        client,
                                        "--advertise-client-urls",
                                        client,
                                        "--listen-peer-urls",
                                        peer,
                                        "--initial-advertise-peer-urls",
                                        peer,
                                        "--initial-cluster",
                                        "default=" + peer};
    command.insert(command.end(), more.begin(), more.end());
    etcd_.emplace(command);
  }
  // FOLDER/NAME.pem and .key: a certificate for 127.0.0.1, signed by itself.
  [[nodiscard]] bool make_certificate(const std::string& name) const {
    const std::string file = (folder_ / name).string();
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" +
        name + " -addext subjectAltName=IP:127.0.0.1 -keyout " + file + ".key -out " + file +
        ".pem 2>/dev/null";
    return std::system(command.c_str()) == 0;
  }
  void put(const std::string& key, const std::string& value) const {
    tell("put", R"({"key":")" + text::to_base64("/damper/test/" + key) + R"(","value":")" +
                    text::to_base64(value) + "\"}");
  }
  void remove(const std::string& key) const {
    tell("deleterange", R"({"key":")" + text::to_base64("/damper/test/" + key) + "\"}");
  }
  // Until etcd has taken it.
  void tell(const std::string& what, const std::string& body) const {
    for (int i = 0; i < 500; ++i) {
      if (post(port_, "/v3/kv/" + what, body).starts_with("HTTP/1.1 200")) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "etcd does not answer";
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
  std::uint16_t tls_port_ = 0;
  std::optional<drills::Process> etcd_;
  const Backend a_{"A"};
  const Backend b_{"B"};
};

TEST_F(ProxyFleet, PolicyAndSwitchesArriveAndEtcdsEndHasNoEffect) {
  start();
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

TEST_F(ProxyFleet, EtcdsEndUnderLoadFailsNoRequestAndChangesNothing) {
  start();
  put("policy", config(a_.url()));
  put("switches/process", R"({"switch":"retries","off":true,"reason":"drill"})");
  Program one(arguments());
  ASSERT_TRUE(one.wait_until_it_serves());
  const std::string policy = get(one.admin, "/policy");
  EXPECT_NE(policy, "");
  EXPECT_NE(get(one.admin, "/switches").find("drill"), std::string::npos);
  Callers callers(one.port, "A", 8);  // Some hundred requests a second.
  EXPECT_TRUE(callers.wait_for_answers(100));
  etcd_->kill();
  EXPECT_NE(one.wait_for("control_lost"), "");
  EXPECT_TRUE(callers.wait_for_answers(200));
  EXPECT_EQ(get(one.admin, "/policy"), policy);
  EXPECT_NE(get(one.admin, "/switches").find("drill"), std::string::npos);
  start();
  remove("switches/process");
  EXPECT_NE(one.wait_for("switch_flipped"), "");
  EXPECT_TRUE(callers.wait_for_answers(100));
  callers.stop();
  EXPECT_EQ(callers.lost(), 0);
  EXPECT_EQ(get(one.admin, "/policy"), policy);
  EXPECT_EQ(get(one.admin, "/switches").find("drill"), std::string::npos);
  EXPECT_EQ(one.process.stop(), 0);
}

// With a CA that only we trust, and an etcd that wants to see a certificate.
TEST_F(ProxyFleet, IsHeardOverTlsWithOurCertificateAndWithARenewedOne) {
  const auto file = [&](const std::string& name) { return (folder_ / name).string(); };
  ASSERT_TRUE(make_certificate("server"));
  const auto start_trusting = [&](const std::string& client) {
    ASSERT_TRUE(make_certificate(client));
    // etcd's gateway is a client of etcd's, too, with the server's certificate.
    std::ofstream(file("trusted.pem")) << std::ifstream(file("server.pem")).rdbuf()
                                       << std::ifstream(file(client + ".pem")).rdbuf();
    for (const char* kind : {".pem", ".key"}) {
      fs::rename(file(client + kind), file(std::string("client") + kind));
    }
    start({"--cert-file", file("server.pem"), "--key-file", file("server.key"),
           "--client-cert-auth", "--trusted-ca-file", file("trusted.pem")});
  };
  start_trusting("first");
  put("policy", config(a_.url()));
  std::vector<std::string> with_tls = arguments();
  with_tls[1] = "etcds://127.0.0.1:" + std::to_string(tls_port_) + "/damper/test";
  with_tls.insert(with_tls.end(), {"--control-ca", file("server.pem"), "--control-cert",
                                   file("client.pem"), "--control-key", file("client.key")});
  Program one(with_tls);
  ASSERT_TRUE(one.wait_until_it_serves());
  EXPECT_EQ(get(one.port, "/"), "A");
  etcd_->kill();
  start_trusting("second");
  put("policy", config(b_.url()));
  EXPECT_NE(one.wait_for("policy_reloaded"), "");
  EXPECT_EQ(get(one.port, "/"), "B");
  EXPECT_EQ(one.process.stop(), 0);
}

TEST_F(ProxyFleet, APolicyThatCannotBeStartedWithLeavesTheFile) {
  start();
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
