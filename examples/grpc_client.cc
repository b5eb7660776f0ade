// A guarded gRPC client: a stub's call with retries, and a server that sends a pushback.

#include <greeter.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>

#include "damper/damper.h"
#include "damper/grpc/call.h"
#include "damper/grpc/stream.h"

using namespace std::chrono_literals;
using damper::greeter::Greeter;
using damper::greeter::Greeting;
using damper::greeter::Name;

namespace {

// A server that is unreachable at first, and then overloaded for a moment.
class Service final : public Greeter::Service {
  grpc::Status Greet(grpc::ServerContext* context, const Name* name, Greeting* greeting) override {
    const int served = served_++;
    if (served == 0) return {grpc::StatusCode::UNAVAILABLE, "starting"};
    if (served == 1) {
      context->AddTrailingMetadata("grpc-retry-pushback-ms", "5");
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "busy"};
    }
    greeting->set_text("hello " + name->name());
    return grpc::Status::OK;
  }
  grpc::Status GreetOften(grpc::ServerContext*, const Name* name,
                          grpc::ServerWriter<Greeting>* writer) override {
    if (name->name().empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "who?"};
    for (const char* word : {"hello", "again"}) {
      Greeting greeting;
      greeting.set_text(word);
      writer->Write(greeting);
    }
    return grpc::Status::OK;
  }
  std::atomic<int> served_{0};
};

}  // namespace

int main() {
  Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::string target = "127.0.0.1:" + std::to_string(port);

  // [channel]
  const auto channel = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(),
                                                 damper::grpc::channel_arguments());
  // [/channel]
  const auto stub = Greeter::NewStub(channel);
  damper::Dependency greeter("greeter");
  Name request;
  request.set_name("Ada");

  // [call]
  auto reply = damper::grpc::call(greeter, {.idempotent = true, .deadline = damper::in(5s)},
                                  [&](grpc::ClientContext& context, Greeting& greeting) {
                                    return stub->Greet(&context, request, &greeting);
                                  });
  if (!reply) std::cerr << damper::name(reply.verdict()) << '\n';
  // [/call]
  std::cout << reply->text() << ", after " << reply.attempts() << " attempts\n";

  // [stream]
  auto words = damper::grpc::stream(
      greeter, {.idempotent = true},
      [&](grpc::ClientContext& context) { return stub->GreetOften(&context, request); });
  for (Greeting word; words && words->read(word);) std::cout << word.text() << '\n';
  // [/stream]

  request.clear_name();
  const auto refused = damper::grpc::stream(
      greeter, {.idempotent = true},
      [&](grpc::ClientContext& context) { return stub->GreetOften(&context, request); });
  // [status]
  if (const auto status = damper::grpc::find_status(*refused.failure())) {
    std::cout << damper::name(refused.verdict()) << ": " << status->error_message() << '\n';
  }
  // [/status]
  server->Shutdown();
  return 0;
}
