// What a user of the installed damper::http can do: parse nothing, link everything.
#include <cstdio>

#include "damper/http/codec/message.h"
#include "damper/http/net/loop.h"

int main() {
  damper::http::Loop loop;
  const damper::http::Request request{.target = "/hello"};
  std::printf("%s %s\n", request.method.c_str(), request.target.c_str());
  return loop.now() > damper::Instant{} ? 0 : 1;
}
