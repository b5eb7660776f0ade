// An update under optimistic concurrency: after a conflict, read again, change again, write again.

#include <iostream>

#include "damper/damper.h"

namespace {

struct Deployment {
  int replicas = 0;
  int version = 0;
};

// Stands for an API server. Another client writes between our first read and our first write.
class Store {
 public:
  damper::Result<Deployment> read() {
    const Deployment seen = current_;
    if (++reads_ == 1) current_ = {.replicas = 7, .version = current_.version + 1};
    return seen;
  }
  damper::Result<damper::Done> write(const Deployment& changed) {
    if (changed.version != current_.version) return damper::failed_http(409);
    current_ = {.replicas = changed.replicas, .version = changed.version + 1};
    return damper::Done{};
  }
  [[nodiscard]] Deployment current() const { return current_; }
  [[nodiscard]] int reads() const { return reads_; }

 private:
  Deployment current_{.replicas = 3, .version = 1};
  int reads_ = 0;
};

}  // namespace

int main() {
  Store store;
  damper::Dependency api_server("api-server");
  // [update]
  auto written = damper::update(
      api_server, [&](const damper::Attempt&) { return store.read(); },
      [](Deployment deployment) {
        ++deployment.replicas;
        return deployment;
      },
      [&](const Deployment& changed, const damper::Attempt&) { return store.write(changed); });
  // [/update]
  if (!written) return 1;
  std::cout << store.current().replicas << " replicas after " << store.reads() << " reads\n";
  return 0;
}
