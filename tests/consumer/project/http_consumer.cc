// A minimal user of the installed damper::http: checks that headers and libraries are complete.
#include <cstdio>

#include "damper/http/codec/message.h"
#include "damper/http/net/loop.h"

int main() {
  damper::http::Loop loop;
  const damper::http::Request request{.target = "/hello"};
  std::printf("%s %s\n", request.method.c_str(), request.target.c_str());
  return loop.now() > damper::Instant{} ? 0 : 1;
}
