// Input: lines of a key's text, webhook-id, webhook-timestamp and webhook-signature, then the body.
// A key that is read is written and read the same. A message is valid exactly if its header has
// the entry that sign() makes, and stays valid with further entries.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "damper/base/check.h"
#include "damper/webhooks/key.h"
#include "damper/webhooks/signature.h"

namespace {

using namespace damper;
using namespace damper::webhooks;

std::string_view cut_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

bool has_entry(std::string_view header, std::string_view entry) {
  while (!header.empty()) {
    const std::string_view one = header.substr(0, header.find(' '));
    if (one == entry) return true;
    header.remove_prefix(std::min(header.size(), one.size() + 1));
  }
  return false;
}

void check_keys(std::string_view text) {
  if (const auto key = VerifyingKey::parse(text)) {
    DAMPER_CHECK(VerifyingKey::parse(key->text())->text() == key->text());
  } else {
    DAMPER_CHECK(!key.error().empty());
  }
  if (const auto key = SigningKey::parse(text)) {
    DAMPER_CHECK(SigningKey::parse(key->text())->text() == key->text());
    DAMPER_CHECK(key->verifying_key().scheme() == key->scheme());
  } else {
    DAMPER_CHECK(!key.error().empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view key_text = cut_line(text);
  const std::string_view id = cut_line(text);
  const std::string_view timestamp = cut_line(text);
  const std::string_view signature = cut_line(text);
  check_keys(key_text);

  const auto parsed = SigningKey::parse(key_text);
  const SigningKey signer =
      parsed ? *parsed : *SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const std::array<SigningKey, 1> signers = {signer};
  const std::array<VerifyingKey, 1> keys = {signer.verifying_key()};

  // `now` is the message's own time, so that the tolerance does not end the check.
  std::int64_t seconds = 0;
  for (const char c : timestamp.substr(0, 12)) {
    if (c >= '0' && c <= '9') seconds = seconds * 10 + (c - '0');
  }
  const UnixTime now{std::chrono::seconds(seconds)};
  const ReceivedHeaders headers{.id = id, .timestamp = timestamp, .signature = signature};
  const Verification result = verify(keys, headers, text, now);

  const auto made = sign(signers, id, now, text);
  if (!made || made->timestamp != timestamp) {
    DAMPER_CHECK(result != Verification::valid);
    return 0;
  }
  if (result != Verification::missing_header && result != Verification::too_many_signatures) {
    DAMPER_CHECK((result == Verification::valid) == has_entry(signature, made->signature));
  }
  const std::string more = made->signature + " " + std::string(signature);
  const Verification again =
      verify(keys, {.id = id, .timestamp = timestamp, .signature = more}, text, now);
  DAMPER_CHECK(again == Verification::valid || again == Verification::too_many_signatures);
  return 0;
}
