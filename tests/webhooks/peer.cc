// Our side of peer_test.py, for the body on standard input:
//   peer sign ID TIME KEY...                     prints webhook-signature
//   peer verify KEY ID TIME SIGNATURE NOW        prints the name of the Verification

#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "damper/webhooks/key.h"
#include "damper/webhooks/signature.h"

namespace {

using damper::webhooks::ReceivedHeaders;
using damper::webhooks::SigningKey;
using damper::webhooks::VerifyingKey;

damper::UnixTime time_of(const std::string& text) {
  return damper::UnixTime{std::chrono::seconds(std::strtoll(text.c_str(), nullptr, 10))};
}

std::string sign_body(const std::vector<std::string>& words, const std::string& body) {
  std::vector<SigningKey> keys;
  keys.reserve(words.size());
  for (std::size_t i = 3; i < words.size(); ++i) {
    auto key = SigningKey::parse(words[i]);
    if (!key) return key.error();
    keys.push_back(*std::move(key));
  }
  const auto headers = sign(keys, words[1], time_of(words[2]), body);
  return headers ? headers->signature : headers.error();
}

std::string verify_body(const std::vector<std::string>& words, const std::string& body) {
  auto key = VerifyingKey::parse(words[1]);
  if (!key) return key.error();
  const std::vector<VerifyingKey> keys{*std::move(key)};
  const ReceivedHeaders headers{.id = words[2], .timestamp = words[3], .signature = words[4]};
  return std::string(name(verify(keys, headers, body, time_of(words[5]))));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string body{std::istreambuf_iterator<char>(std::cin), {}};
  if (words.size() >= 4 && words[0] == "sign") {
    std::cout << sign_body(words, body) << '\n';
  } else if (words.size() == 6 && words[0] == "verify") {
    std::cout << verify_body(words, body) << '\n';
  } else {
    std::cerr << "peer sign ID TIME KEY... | peer verify KEY ID TIME SIGNATURE NOW\n";
    return 2;
  }
  return 0;
}
