#include "damper/webhooks/key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "damper/base/text/base64.h"

namespace damper::webhooks {
namespace {

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view kPrivate =
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
constexpr std::string_view kPublic = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

std::string secret_of(std::size_t bytes) {
  return "whsec_" + text::to_base64(std::string(bytes, 'k'));
}

TEST(WebhookKey, EveryKindOfKeyIsReadAndWrittenTheSame) {
  EXPECT_EQ(SigningKey::parse(kSecret)->text(), kSecret);
  EXPECT_EQ(SigningKey::parse(kSecret)->scheme(), Scheme::v1);
  EXPECT_EQ(SigningKey::parse(kPrivate)->text(), kPrivate);
  EXPECT_EQ(SigningKey::parse(kPrivate)->scheme(), Scheme::v1a);
  EXPECT_EQ(VerifyingKey::parse(kSecret)->text(), kSecret);
  EXPECT_EQ(VerifyingKey::parse(kPublic)->text(), kPublic);
  EXPECT_EQ(VerifyingKey::parse(kPublic)->scheme(), Scheme::v1a);
}

TEST(WebhookKey, AReceiversKeyFollowsFromTheSenders) {
  EXPECT_EQ(SigningKey::parse(kSecret)->verifying_key().text(), kSecret);
  EXPECT_EQ(SigningKey::parse(kPrivate)->verifying_key().text(), kPublic);
}

TEST(WebhookKey, AReceiverAcceptsASecretWithoutPrefixAndOfAnySize) {
  EXPECT_EQ(VerifyingKey::parse(kSecret.substr(6))->text(), kSecret);
  EXPECT_TRUE(VerifyingKey::parse(secret_of(1)));
  EXPECT_TRUE(VerifyingKey::parse(secret_of(512)));
  EXPECT_EQ(VerifyingKey::parse(secret_of(513)).error(),
            "a key that begins with whsec_ has 1 to 512 bytes; this one has 513");
}

TEST(WebhookKey, ASendersSecretHas24To64BytesAndItsPrefix) {
  EXPECT_TRUE(SigningKey::parse(secret_of(24)));
  EXPECT_TRUE(SigningKey::parse(secret_of(64)));
  EXPECT_EQ(SigningKey::parse(secret_of(23)).error(),
            "a key that begins with whsec_ has 24 to 64 bytes; this one has 23");
  EXPECT_EQ(SigningKey::parse(secret_of(65)).error(),
            "a key that begins with whsec_ has 24 to 64 bytes; this one has 65");
  EXPECT_EQ(SigningKey::parse(kSecret.substr(6)).error(),
            "a sender's key begins with whsec_ or whsk_");
}

TEST(WebhookKey, AnEmptySecretIsAnError) {
  for (const std::string_view text : {"", "whsec_"}) {
    EXPECT_EQ(VerifyingKey::parse(text).error(),
              "a key that begins with whsec_ has 1 to 512 bytes; this one has 0");
    EXPECT_FALSE(SigningKey::parse(text));
  }
  EXPECT_FALSE(VerifyingKey::parse("whpk_"));
  EXPECT_FALSE(SigningKey::parse("whsk_"));
}

TEST(WebhookKey, Base64IsStrict) {
  const std::string_view stem = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS";
  for (const std::string_view end : {"", "=", "-", "_", "w=", "w\n", "w ", " w", "w===="}) {
    const std::string text = "whsec_" + std::string(stem) + std::string(end);
    EXPECT_EQ(VerifyingKey::parse(text).error(),
              "the part of the key after whsec_ is not padded base64 of the standard alphabet")
        << text;
    EXPECT_FALSE(SigningKey::parse(text)) << text;
  }
}

TEST(WebhookKey, AnEd25519KeyHasItsSize) {
  const auto of = [](std::string_view prefix, std::size_t size) {
    return std::string(prefix) + text::to_base64(std::string(size, 'k'));
  };
  EXPECT_EQ(VerifyingKey::parse(of("whpk_", 31)).error(),
            "a key that begins with whpk_ has 32 bytes; this one has 31");
  EXPECT_EQ(SigningKey::parse(of("whsk_", 33)).error(),
            "a key that begins with whsk_ has 64 or 32 bytes; this one has 33");
  EXPECT_TRUE(SigningKey::parse(of("whsk_", 32)));
}

TEST(WebhookKey, ASeedAloneIsTheSameKey) {
  const auto both = text::find_base64(kPrivate.substr(5));
  ASSERT_TRUE(both);
  const auto seed = SigningKey::parse("whsk_" + text::to_base64(both->substr(0, 32)));
  EXPECT_EQ(seed->text(), kPrivate);
}

TEST(WebhookKey, APublicHalfOfAnotherSeedIsAnError) {
  auto both = text::find_base64(kPrivate.substr(5));
  ASSERT_TRUE(both);
  both->back() = static_cast<char>(both->back() ^ 1);
  EXPECT_EQ(SigningKey::parse("whsk_" + text::to_base64(*both)).error(),
            "the second half of a key that begins with whsk_ is the public key of the first half; "
            "this one is not");
}

TEST(WebhookKey, APublicKeyOfSmallOrderIsAnError) {
  const auto accepts = [](const std::string& bytes) {
    return static_cast<bool>(VerifyingKey::parse("whpk_" + text::to_base64(bytes)));
  };
  const std::string eight =
      "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0"
      "\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05";
  for (const char sign : {'\0', '\x80'}) {
    for (const int first : {0x00, 0x01, 0xec, 0xed, 0xee}) {
      std::string bytes(32, first > 1 ? '\xff' : '\0');
      bytes.front() = static_cast<char>(first);
      bytes.back() = static_cast<char>((first > 1 ? 0x7f : 0) | sign);
      EXPECT_FALSE(accepts(bytes)) << first;
    }
    std::string bytes = eight;
    bytes.back() = static_cast<char>(bytes.back() | sign);
    EXPECT_FALSE(accepts(bytes));
  }
  EXPECT_TRUE(accepts(std::string("\x03") + std::string(31, '\0')));
  EXPECT_TRUE(VerifyingKey::parse(kPublic));
}

TEST(WebhookKey, AReceiverDoesNotAcceptAPrivateKey) {
  const auto key = VerifyingKey::parse(kPrivate);
  EXPECT_EQ(key.error(),
            "a receiver's key begins with whsec_ or whpk_; whsk_ is the sender's private key");
}

TEST(WebhookKey, GeneratedKeysDifferAndAreRead) {
  for (const Scheme scheme : {Scheme::v1, Scheme::v1a}) {
    std::set<std::string> seen;
    for (int i = 0; i < 16; ++i) {
      const SigningKey key = SigningKey::generate(scheme);
      EXPECT_EQ(key.scheme(), scheme);
      EXPECT_EQ(SigningKey::parse(key.text())->text(), key.text());
      EXPECT_EQ(key.text().size(), scheme == Scheme::v1 ? 6U + 44U : 5U + 88U);
      seen.insert(key.text());
    }
    EXPECT_EQ(seen.size(), 16U);
  }
}

}  // namespace
}  // namespace damper::webhooks
