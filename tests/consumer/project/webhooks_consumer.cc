// A minimal user of the installed damper::webhooks: signs and verifies a message.
#include <damper/webhooks/key.h>
#include <damper/webhooks/signature.h>

#include <cstdio>
#include <vector>

int main() {
  namespace webhooks = damper::webhooks;
  const std::vector<webhooks::SigningKey> keys{
      webhooks::SigningKey::generate(webhooks::Scheme::v1a)};
  const std::vector<webhooks::VerifyingKey> known{keys[0].verifying_key()};
  const damper::UnixTime now{std::chrono::seconds(1614265330)};
  const auto headers = webhooks::sign(keys, "msg_1", now, "{}");
  if (!headers) return 1;
  const auto result = webhooks::verify(
      known, {.id = headers->id, .timestamp = headers->timestamp, .signature = headers->signature},
      "{}", now);
  std::printf("%s\n", name(result).data());
  return result == webhooks::Verification::valid ? 0 : 1;
}
