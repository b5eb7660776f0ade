// A gRPC client and server, all four kinds of calls, with the proxy as a process between them:
// HTTP/2 without TLS on both sides.
#include <greeter.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "process.h"

namespace damper::drills {
namespace {

using greeter::Greeting;
using greeter::Name;
using std::chrono::milliseconds;

constexpr auto kPatience = milliseconds(DAMPER_INSTRUMENTED != 0 ? 20000 : 5000);

class Service final : public greeter::Greeter::Service {
 public:
  std::atomic<int> refusals = 0;  // the number of calls of Greet to answer with UNAVAILABLE
  std::atomic<int> greets = 0;

 private:
  ::grpc::Status Greet(::grpc::ServerContext* context, const Name* name, Greeting* out) override {
    ++greets;
    if (refusals-- > 0) return {::grpc::StatusCode::UNAVAILABLE, "not now"};
    if (name->name() == "nobody") return {::grpc::StatusCode::NOT_FOUND, "who?"};
    context->AddInitialMetadata("x-first", "1");
    context->AddTrailingMetadata("x-last", "2");
    out->set_text("hello " + name->name());
    return ::grpc::Status::OK;
  }
  ::grpc::Status GreetOften(::grpc::ServerContext*, const Name* name,
                            ::grpc::ServerWriter<Greeting>* writer) override {
    Greeting greeting;
    for (int i = 0; i < 100; ++i) {
      greeting.set_text(name->name() + std::to_string(i) + std::string(1000, '.'));
      writer->Write(greeting);
    }
    return ::grpc::Status::OK;
  }
  ::grpc::Status GreetAll(::grpc::ServerContext*, ::grpc::ServerReader<Name>* reader,
                          Greeting* out) override {
    Name name;
    std::size_t bytes = 0;
    while (reader->Read(&name)) bytes += name.name().size();
    out->set_text(std::to_string(bytes));
    return ::grpc::Status::OK;
  }
  ::grpc::Status GreetEach(::grpc::ServerContext*,
                           ::grpc::ServerReaderWriter<Greeting, Name>* stream) override {
    Name name;
    Greeting greeting;
    while (stream->Read(&name)) {
      greeting.set_text("hello " + name.name());
      stream->Write(greeting);
    }
    return ::grpc::Status::OK;
  }
};

sockaddr_in at(int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  return where;
}

// A channel that finds nobody waits a second before it tries again.
void wait_for(int port) {
  const sockaddr_in where = at(port);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const int failed = ::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof(where));
    ::close(fd);
    if (failed == 0) return;
    std::this_thread::sleep_for(milliseconds(5));
  }
  ADD_FAILURE() << "the proxy does not listen";
}

int find_free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where = at(0);
  socklen_t size = sizeof(where);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&where), size), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size), 0);
  ::close(fd);
  return ntohs(where.sin_port);
}

class ProxyGrpc : public ::testing::Test {
 protected:
  ProxyGrpc() {
    ::grpc::ServerBuilder builder;
    int backend = 0;
    builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &backend);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    const int free_port = find_free_port();
    const std::string port = std::to_string(free_port);
    file_ = ::testing::TempDir() + "proxy_grpc_" + port + ".yaml";
    std::ofstream(file_) << "listeners: { web: { address: '127.0.0.1:" << port << "' } }\n"
                         << "clusters: { greeter: { protocol: http2, endpoints: "
                         << "'http://127.0.0.1:" << backend << "' } }\n"
                         << "defaults: { timeout: 20s, retry_policy: { num_retries: 3, "
                         << "retry_back_off: { base_interval: 1ms } } }\n"
                         << "routes:\n"
                         << "  greet: { match: { path: /damper.greeter.Greeter/Greet }, "
                         << "response_buffer: 64KiB, assume_idempotent: true }\n"
                         << "  rest: {}\n";
    proxy_ = std::make_unique<Process>(
        std::vector<std::string>{DAMPER_PROGRAM, "proxy", "-c", file_, "--admin", "off"});
    wait_for(free_port);
    const auto channel =
        ::grpc::CreateChannel("127.0.0.1:" + port, ::grpc::InsecureChannelCredentials());
    EXPECT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() + kPatience * 2));
    stub_ = greeter::Greeter::NewStub(channel);
  }
  ~ProxyGrpc() override {
    stub_.reset();
    EXPECT_EQ(proxy_->stop(), 0);
    server_->Shutdown(std::chrono::system_clock::now());
    static_cast<void>(std::remove(file_.c_str()));
  }
  static void set_deadline(::grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
  }

  Service service_;
  std::unique_ptr<::grpc::Server> server_;
  std::string file_;
  std::unique_ptr<Process> proxy_;
  std::unique_ptr<greeter::Greeter::Stub> stub_;
};

TEST_F(ProxyGrpc, AUnaryCallPassesWithItsMetadata) {
  ::grpc::ClientContext context;
  set_deadline(context);
  Name name;
  name.set_name("ada");
  Greeting greeting;
  const ::grpc::Status status = stub_->Greet(&context, name, &greeting);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(greeting.text(), "hello ada");
  EXPECT_EQ(context.GetServerInitialMetadata().count("x-first"), 1U);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("x-last"), 1U);
}

TEST_F(ProxyGrpc, AStatusOfTheServerPasses) {
  ::grpc::ClientContext context;
  set_deadline(context);
  Name name;
  name.set_name("nobody");
  Greeting greeting;
  const ::grpc::Status status = stub_->Greet(&context, name, &greeting);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "who?");
}

// gRPC calls are POSTs: the route says that they may be repeated.
TEST_F(ProxyGrpc, ARefusedCallIsTriedAgain) {
  service_.refusals = 1;
  ::grpc::ClientContext context;
  set_deadline(context);
  Name name;
  name.set_name("ada");
  Greeting greeting;
  const ::grpc::Status status = stub_->Greet(&context, name, &greeting);
  ASSERT_TRUE(status.ok()) << status.error_message() << " after " << service_.greets;
  EXPECT_EQ(service_.greets, 2);
}

TEST_F(ProxyGrpc, AServerStreams) {
  ::grpc::ClientContext context;
  set_deadline(context);
  Name name;
  name.set_name("n");
  const auto reader = stub_->GreetOften(&context, name);
  Greeting greeting;
  int count = 0;
  while (reader->Read(&greeting)) {
    EXPECT_TRUE(greeting.text().starts_with("n" + std::to_string(count) + "."));
    ++count;
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(count, 100);
}

TEST_F(ProxyGrpc, AClientStreams) {
  ::grpc::ClientContext context;
  set_deadline(context);
  Greeting greeting;
  const auto writer = stub_->GreetAll(&context, &greeting);
  Name name;
  name.set_name(std::string(5000, 'x'));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(writer->Write(name));
  writer->WritesDone();
  const ::grpc::Status status = writer->Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(greeting.text(), "500000");
}

// Each answer before the next question: nothing is held back on the way.
TEST_F(ProxyGrpc, BothStream) {
  ::grpc::ClientContext context;
  set_deadline(context);
  const auto stream = stub_->GreetEach(&context);
  Name name;
  Greeting greeting;
  for (int i = 0; i < 50; ++i) {
    name.set_name(std::to_string(i));
    ASSERT_TRUE(stream->Write(name));
    ASSERT_TRUE(stream->Read(&greeting));
    EXPECT_EQ(greeting.text(), "hello " + std::to_string(i));
  }
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&greeting));
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace damper::drills
