#include "damper/webhooks/seal/sealer.h"

#include <gtest/gtest.h>

#include "damper/base/text/base64.h"

namespace damper::webhooks {
namespace {

std::string line(char byte) { return text::to_base64(std::string(Sealer::kKeyBytes, byte)) + "\n"; }

Sealer sealer(const std::string& file) {
  auto parsed = Sealer::parse(file);
  EXPECT_TRUE(parsed) << parsed.error();
  return *std::move(parsed);
}

constexpr Id kEndpoint{7};

std::string opened(const Sealer& box, std::string_view sealed) {
  auto plain = box.unseal(kEndpoint, sealed);
  return plain ? *plain : "error: " + plain.error();
}

TEST(Sealer, WhatItSealsItUnseals) {
  const Sealer box = sealer(Sealer::make_key_file());
  for (const std::size_t size : {0U, 1U, 63U, 64U, 5000U}) {
    const std::string plain(size, 'x');
    const std::string sealed = box.seal(kEndpoint, plain);
    ASSERT_EQ(opened(box, sealed), plain);
    EXPECT_EQ(sealed.find("xxxx"), std::string::npos);
    EXPECT_NE(sealed, box.seal(kEndpoint, plain)) << "the nonce is new";
  }
}

TEST(Sealer, ARowOfAnotherEndpointIsRefused) {
  const Sealer box = sealer(line('a'));
  const auto moved = box.unseal(Id{8}, box.seal(kEndpoint, "whsec_1"));
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error(), "it was changed after it was encrypted");
}

TEST(Sealer, EveryChangedByteIsRefused) {
  const Sealer box = sealer(line('a'));
  const std::string sealed = box.seal(kEndpoint, "whsec_1");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(box.unseal(kEndpoint, changed)) << i;
    EXPECT_FALSE(box.unseal(kEndpoint, std::string_view(sealed).substr(0, i))) << i;
  }
}

TEST(Sealer, AnotherKeyIsNamedAsTheReason) {
  const std::string sealed = sealer(line('a')).seal(kEndpoint, "whsec_1");
  EXPECT_EQ(opened(sealer(line('b')), sealed),
            "error: it was encrypted with a key that the key file does not have");
}

TEST(Sealer, PlainTextIsNotAccepted) {
  EXPECT_FALSE(sealer(line('a')).unseal(kEndpoint, std::string(100, '{')));
}

TEST(Sealer, ARotationReadsOldRowsAndSealsWithTheNewKey) {
  const Sealer before = sealer(line('a'));
  const Sealer during = sealer("# new\n" + line('b') + "\n# old\n" + line('a'));
  const Sealer after = sealer(line('b'));
  const std::string old_row = before.seal(kEndpoint, "whsec_1");
  EXPECT_EQ(opened(during, old_row), "whsec_1");
  EXPECT_TRUE(during.is_of_old_key(old_row));
  const std::string new_row = during.seal(kEndpoint, "whsec_1");
  EXPECT_FALSE(during.is_of_old_key(new_row));
  EXPECT_EQ(opened(after, new_row), "whsec_1");
  EXPECT_FALSE(after.unseal(kEndpoint, old_row));
}

TEST(Sealer, AKeyFileThatIsNotOneIsRefusedWithoutItsContent) {
  for (const std::string& text : {std::string(), std::string("# only\n\n"), line('a') + "secret\n",
                                  std::string("QUFBQQ==\n")}) {
    const auto parsed = Sealer::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().find("secret"), std::string::npos);
    EXPECT_EQ(parsed.error().find("QUFBQQ"), std::string::npos);
  }
  std::string many;
  for (std::size_t i = 0; i <= Sealer::kMostKeys; ++i) many += line(static_cast<char>('a' + i));
  EXPECT_FALSE(Sealer::parse(many));
}

}  // namespace
}  // namespace damper::webhooks
