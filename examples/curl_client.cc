// A guarded libcurl client: each attempt has a timeout and names the owner of the retries.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "damper/curl/perform.h"
#include "damper/damper.h"

using namespace std::chrono_literals;

namespace {

// Stands for the billing service: the first answer is a 503, the second a 200.
class Billing {
 public:
  Billing() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = static_cast<sockaddr*>(static_cast<void*>(&address));
    if (bind(listener_, generic, size) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, generic, &size) != 0) {
      std::cerr << "no port\n";
      std::exit(1);
    }
    url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/invoices/7";
    thread_ = std::thread([this] { serve(); });
  }
  Billing(const Billing&) = delete;
  Billing& operator=(const Billing&) = delete;
  ~Billing() {
    thread_.join();
    close(listener_);
  }

  std::string url;

 private:
  void serve() const {
    for (const std::string status : {"503 Service Unavailable", "200 OK"}) {
      const int peer = accept(listener_, nullptr, nullptr);
      std::string head;
      char byte = 0;
      while (!head.ends_with("\r\n\r\n") && recv(peer, &byte, 1, 0) == 1) head += byte;
      const std::string body = status == "200 OK" ? "{\"total\": 12}" : "";
      const std::string answer =
          "HTTP/1.1 " + status +
          "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
          body;
      (void)send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      close(peer);
    }
  }

  int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::thread thread_;
};

size_t append(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

// [get]
damper::CallResult<long> get_invoice(damper::Dependency& billing, const std::string& url,
                                     std::string& body) {
  CURL* handle = curl_easy_init();
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
  auto status = damper::curl::perform(billing,
                                      {.method = "GET",
                                       .deadline = damper::in(2s),
                                       .owner = "checkout",
                                       .rewind = [&] { body.clear(); }},
                                      handle);
  curl_easy_cleanup(handle);
  return status;
}
// [/get]

}  // namespace

int main() {
  damper::engine::Policy policy;
  policy.call.backoff.base = 10ms;  // short, for the example
  damper::Dependency billing("billing", policy);
  const Billing service;
  std::string body;
  const auto status = get_invoice(billing, service.url, body);
  if (status) {
    std::cout << *status << " after " << status.attempts() << " attempts: " << body << '\n';
  } else {
    std::cout << damper::name(status.verdict()) << '\n';
  }
}
