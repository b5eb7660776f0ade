#pragma once

#include <greeter.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "damper/engine/policy.h"
#include "damper/grpc/guard.h"

namespace damper::grpc {

// A real server on loopback, in this process, whose answers are functions.
class GreeterServer final : private greeter::Greeter::Service {
 public:
  using Greeting = greeter::Greeting;
  using Writer = ::grpc::ServerWriter<Greeting>;

  GreeterServer() {
    ::grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<greeter::Greeter::Service*>(this));
    server_ = builder.BuildAndStart();
    channel_ =
        ::grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                    ::grpc::InsecureChannelCredentials(), channel_arguments());
    stub_ = greeter::Greeter::NewStub(channel_);
  }
  ~GreeterServer() override {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  }

  std::function<::grpc::Status(::grpc::ServerContext&, Greeting&)> greet;
  std::function<::grpc::Status(::grpc::ServerContext&, Writer&)> greet_often;

  [[nodiscard]] greeter::Greeter::Stub& stub() { return *stub_; }

  // What the client sent under this key.
  static std::optional<std::string> find_metadata(const ::grpc::ServerContext& context,
                                                  const std::string& key) {
    const auto found = context.client_metadata().find(key);
    if (found == context.client_metadata().end()) return std::nullopt;
    return std::string(found->second.data(), found->second.size());
  }

 private:
  ::grpc::Status Greet(::grpc::ServerContext* context, const greeter::Name*,
                       Greeting* greeting) override {
    return greet(*context, *greeting);
  }
  ::grpc::Status GreetOften(::grpc::ServerContext* context, const greeter::Name*,
                            Writer* writer) override {
    return greet_often(*context, *writer);
  }

  int port_ = 0;
  std::unique_ptr<::grpc::Server> server_;
  std::shared_ptr<::grpc::Channel> channel_;
  std::unique_ptr<greeter::Greeter::Stub> stub_;
};

[[nodiscard]] inline engine::Policy quick_policy() {
  engine::Policy policy;
  policy.call.timeout = std::chrono::minutes(1);
  policy.call.backoff = {.jitter = schedule::Jitter::none,
                         .base = std::chrono::milliseconds(1),
                         .cap = std::chrono::milliseconds(1)};
  policy.budget = {.percent = Percent(1000), .reserve = 1000};
  return policy;
}
[[nodiscard]] inline engine::Policy hedging_policy() {
  engine::Policy policy = quick_policy();
  policy.call.hedge = {.max_hedges = 1, .min_samples = 100, .ratio = Percent(100)};
  return policy;
}
// Enough quick answers for a slow one to be hedged.
inline void warm(Dependency& dependency) {
  for (int i = 0; i < 100; ++i) {
    (void)damper::call(dependency, {}, [](const Attempt&) { return decide::Outcome::success; });
  }
}

}  // namespace damper::grpc
