#include "damper/webhooks/signature.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damper/base/text/base64.h"

namespace damper::webhooks {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view kOther = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
constexpr std::string_view kPrivate =
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
constexpr std::string_view kPublic = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";
constexpr std::string_view kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::string_view kBody = R"({"test": 2432232314})";
constexpr std::string_view kV1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
constexpr std::string_view kV1a =
    "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
constexpr UnixTime kTime{seconds(1614265330)};

std::vector<SigningKey> senders(std::initializer_list<std::string_view> texts) {
  std::vector<SigningKey> keys;
  keys.reserve(texts.size());
  for (const std::string_view text : texts) keys.push_back(*SigningKey::parse(text));
  return keys;
}
std::vector<VerifyingKey> receivers(std::initializer_list<std::string_view> texts) {
  std::vector<VerifyingKey> keys;
  keys.reserve(texts.size());
  for (const std::string_view text : texts) keys.push_back(*VerifyingKey::parse(text));
  return keys;
}
// The first vector, with another signature header.
Verification verify_header(std::string_view signature,
                           const std::vector<VerifyingKey>& keys = receivers({kSecret})) {
  return verify(keys, {.id = kId, .timestamp = "1614265330", .signature = signature}, kBody, kTime);
}
// The first vector with another timestamp, of which the signature is right.
Verification verify_at(seconds sent, UnixTime now, seconds tolerance = kTolerance) {
  const auto keys = senders({kSecret});
  const auto headers = sign(keys, kId, UnixTime{sent}, kBody);
  return verify(receivers({kSecret}),
                {.id = kId, .timestamp = headers->timestamp, .signature = headers->signature},
                kBody, now, tolerance);
}

TEST(WebhookSignature, TheStandardsVectorsAreSignedAndVerified) {
  struct Vector {
    std::string_view signer, verifier, id, body;
    std::int64_t time;
    std::string_view signature;
  };
  const std::vector<Vector> vectors = {
      {kSecret, kSecret, kId, kBody, 1614265330, kV1},
      {kOther, kOther, "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
       R"({"email":"test@example.com","username":"test_user"})", 1649367553,
       "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="},
      {kPrivate, kPublic, kId, kBody, 1614265330, kV1a},
  };
  for (const Vector& vector : vectors) {
    const UnixTime time{seconds(vector.time)};
    const auto keys = senders({vector.signer});
    const auto headers = sign(keys, vector.id, time, vector.body);
    ASSERT_TRUE(headers) << vector.id;
    EXPECT_EQ(headers->signature, vector.signature);
    EXPECT_EQ(headers->timestamp, std::to_string(vector.time));
    EXPECT_EQ(headers->id, vector.id);
    EXPECT_EQ(
        verify(receivers({vector.verifier}),
               {.id = vector.id, .timestamp = headers->timestamp, .signature = vector.signature},
               vector.body, time),
        Verification::valid);
  }
}

TEST(WebhookSignature, EachMissingHeaderIsNamedAsSuch) {
  const ReceivedHeaders whole{.id = kId, .timestamp = "1614265330", .signature = kV1};
  const auto keys = receivers({kSecret});
  ASSERT_EQ(verify(keys, whole, kBody, kTime), Verification::valid);
  for (const auto header :
       {&ReceivedHeaders::id, &ReceivedHeaders::timestamp, &ReceivedHeaders::signature}) {
    ReceivedHeaders some = whole;
    some.*header = std::nullopt;
    EXPECT_EQ(verify(keys, some, kBody, kTime), Verification::missing_header);
    some.*header = "";
    EXPECT_EQ(verify(keys, some, kBody, kTime), Verification::missing_header);
  }
}

TEST(WebhookSignature, ATimestampIsADecimalNumberAndNothingElse) {
  for (const std::string_view bad :
       {"hello", "1614265330.0", " 1614265330", "1614265330 ", "+1614265330", "-1614265330",
        "01614265330", "0x6038c1f2", "1e9", "1614265330000000000", "161426533000000000000000000"}) {
    EXPECT_EQ(
        verify(receivers({kSecret}), {.id = kId, .timestamp = bad, .signature = kV1}, kBody, kTime),
        Verification::bad_timestamp)
        << bad;
  }
}

TEST(WebhookSignature, TheToleranceIsInclusiveOnBothSides) {
  const seconds sent(1'700'000'000);
  const UnixTime now{sent};
  EXPECT_EQ(verify_at(sent, now + seconds(300)), Verification::valid);
  EXPECT_EQ(verify_at(sent, now + seconds(300) + milliseconds(1)), Verification::too_old);
  EXPECT_EQ(verify_at(sent, now + seconds(301)), Verification::too_old);
  EXPECT_EQ(verify_at(sent, now - seconds(300)), Verification::valid);
  EXPECT_EQ(verify_at(sent, now - seconds(300) - milliseconds(1)), Verification::too_new);
  EXPECT_EQ(verify_at(sent, now - seconds(301)), Verification::too_new);
  EXPECT_EQ(verify_at(sent, now, seconds(0)), Verification::valid);
  EXPECT_EQ(verify_at(sent, now + milliseconds(1), seconds(0)), Verification::too_old);
  EXPECT_EQ(verify_at(sent, now + kMostTolerance, kMostTolerance), Verification::valid);
}

TEST(WebhookSignature, TheEdgesOfTimeOverflowNothing) {
  EXPECT_EQ(verify_at(seconds(0), UnixTime{}), Verification::valid);
  EXPECT_EQ(verify_at(seconds(999'999'999'999), UnixTime{}), Verification::too_new);
  EXPECT_EQ(verify_at(seconds(0), UnixTime{seconds(999'999'999'999)}), Verification::too_old);
}

TEST(WebhookSignature, WhatIsNotTheSignatureDoesNotMatch) {
  for (const std::string_view bad :
       {"v1,", "v1", ",", " ", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1O",  // truncated
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE",                        // unpadded
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OF=",                       // unused bits
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1A==",                       // 31 bytes
        "V1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",                       // version
        "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        "v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="}) {
    EXPECT_EQ(verify_header(bad), Verification::no_match) << bad;
  }
}

TEST(WebhookSignature, EveryBitOfASignatureCounts) {
  for (const bool asymmetric : {false, true}) {
    const std::string_view right = asymmetric ? kV1a : kV1;
    const auto keys = receivers({asymmetric ? kPublic : kSecret});
    ASSERT_EQ(verify_header(right, keys), Verification::valid);
    for (std::size_t at = right.find(',') + 1; at < right.find('='); ++at) {
      std::string wrong(right);
      wrong[at] = wrong[at] == 'A' ? 'E' : 'A';
      EXPECT_EQ(verify_header(wrong, keys), Verification::no_match) << wrong;
    }
  }
}

TEST(WebhookSignature, ASignatureWithFurtherBytesIsNone) {
  const auto mac = text::find_base64(kV1.substr(3));
  ASSERT_TRUE(mac);
  EXPECT_EQ(verify_header("v1," + text::to_base64(*mac)), Verification::valid);
  EXPECT_EQ(verify_header("v1," + text::to_base64(*mac + 'x')), Verification::no_match);
  EXPECT_EQ(verify_header("v1," + text::to_base64(mac->substr(0, 31))), Verification::no_match);
}

TEST(WebhookSignature, IdTimestampAndBodyAreSigned) {
  const auto keys = receivers({kSecret});
  const ReceivedHeaders right{.id = kId, .timestamp = "1614265330", .signature = kV1};
  EXPECT_EQ(verify(keys, right, R"({"test": 2432232315})", kTime), Verification::no_match);
  EXPECT_EQ(verify(keys, right, "", kTime), Verification::no_match);
  ReceivedHeaders other = right;
  other.id = "msg_p5jXN8AQM9LWM0D4loKWxJel";
  EXPECT_EQ(verify(keys, other, kBody, kTime), Verification::no_match);
  other = right;
  other.timestamp = "1614265331";
  EXPECT_EQ(verify(keys, other, kBody, kTime), Verification::no_match);
}

// "a" + "1614265330" + "1614265331.x" and "a.1614265330" + "1614265331" + "x" have one content.
TEST(WebhookSignature, AnIdWithADotCannotMoveTheTimestamp) {
  const auto keys = senders({kSecret});
  const auto headers = sign(keys, "a", kTime, "1614265331.x");
  ASSERT_TRUE(headers);
  EXPECT_EQ(
      verify(receivers({kSecret}),
             {.id = "a.1614265330", .timestamp = "1614265331", .signature = headers->signature},
             "x", kTime),
      Verification::bad_id);
}

TEST(WebhookSignature, AnIdIsVisibleAsciiOfBoundedSize) {
  const auto keys = senders({kSecret});
  const std::string most(kMostIdBytes, 'm');
  EXPECT_TRUE(sign(keys, most, kTime, kBody));
  for (const std::string& bad :
       {std::string(), most + "m", std::string("a.b"), std::string("a b"), std::string("a\r\nx: y"),
        std::string("\xc3\xa9"), std::string("a\0b", 3), std::string("\x7f")}) {
    EXPECT_EQ(sign(keys, bad, kTime, kBody).error(),
              "a webhook-id has 1 to 256 visible ASCII characters without '.'");
    if (bad.empty()) continue;
    EXPECT_EQ(verify(receivers({kSecret}), {.id = bad, .timestamp = "1614265330", .signature = kV1},
                     kBody, kTime),
              Verification::bad_id);
  }
}

TEST(WebhookSignature, AnyEntryMayMatchAndUnknownVersionsAreSkipped) {
  const std::string entries =
      "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= "
      "v2,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= " +
      std::string(kV1) + " v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
  EXPECT_EQ(verify_header(entries), Verification::valid);
  EXPECT_EQ(verify_header("  " + std::string(kV1) + "  "), Verification::valid);
  EXPECT_EQ(verify_header("v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="),
            Verification::no_match);
}

TEST(WebhookSignature, ARotationIsSignedWithAllKeysAndAcceptedWithEither) {
  const auto keys = senders({kOther, kSecret, kPrivate});
  const auto headers = sign(keys, kId, kTime, kBody);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->signature.substr(headers->signature.find(' ') + 1),
            std::string(kV1) + " " + std::string(kV1a));
  for (const std::string_view key : {kOther, kSecret, kPublic}) {
    EXPECT_EQ(verify_header(headers->signature, receivers({key})), Verification::valid) << key;
  }
  // A receiver that has the old and the new secret.
  EXPECT_EQ(verify_header(kV1, receivers({kOther, kSecret})), Verification::valid);
  EXPECT_EQ(verify_header(kV1, receivers({kSecret, kOther})), Verification::valid);
  EXPECT_EQ(verify_header(kV1, receivers({kOther})), Verification::no_match);
  EXPECT_EQ(verify_header(kV1, {}), Verification::no_match);
}

// A receiver with a public key takes no HMAC whose secret is the public key, which everybody has.
TEST(WebhookSignature, ThePublicKeyIsNoSecret) {
  const auto as_secret = SigningKey::parse("whsec_" + std::string(kPublic.substr(5)));
  ASSERT_TRUE(as_secret);
  const std::vector<SigningKey> keys{*as_secret};
  const auto headers = sign(keys, kId, kTime, kBody);
  EXPECT_EQ(verify_header(headers->signature, receivers({kPublic})), Verification::no_match);
}

TEST(WebhookSignature, EntriesAndBytesAreBounded) {
  std::string full(kV1);
  for (std::size_t i = 1; i < kMostSignatures; ++i) full += " v9,x";
  EXPECT_EQ(verify_header(full), Verification::valid);
  EXPECT_EQ(verify_header(full + " v9,x"), Verification::too_many_signatures);
  const std::string padding(kMostSignatureBytes - kV1.size(), ' ');
  EXPECT_EQ(verify_header(padding + std::string(kV1)), Verification::valid);
  EXPECT_EQ(verify_header(padding + " " + std::string(kV1)), Verification::too_many_signatures);
}

TEST(WebhookSignature, AsManyOfEachSchemeAsMayBeSignedAreAccepted) {
  std::vector<SigningKey> keys(kMostSignatures - kMostEd25519, *SigningKey::parse(kSecret));
  keys.insert(keys.end(), kMostEd25519, *SigningKey::parse(kPrivate));
  const auto headers = sign(keys, kId, kTime, kBody);
  ASSERT_TRUE(headers);
  EXPECT_EQ(verify_header(headers->signature, receivers({kPublic})), Verification::valid);
  EXPECT_EQ(verify_header(headers->signature, receivers({kSecret})), Verification::valid);
  keys.insert(keys.begin(), *SigningKey::parse(kSecret));
  EXPECT_EQ(sign(keys, kId, kTime, kBody).error(),
            "a message is signed with 1 to 16 keys; there are 17");
  EXPECT_EQ(sign({}, kId, kTime, kBody).error(),
            "a message is signed with 1 to 16 keys; there are 0");
}

TEST(WebhookSignature, FewEntriesCostAnEd25519Verification) {
  const std::vector<SigningKey> keys(kMostEd25519 + 1, *SigningKey::parse(kPrivate));
  EXPECT_EQ(sign(keys, kId, kTime, kBody).error(), "a message is signed with at most 4 keys whsk_");
  std::string entries(kV1a);
  for (std::size_t i = 1; i < kMostEd25519; ++i) entries.append(" ").append(kV1a);
  EXPECT_EQ(verify_header(entries, receivers({kPublic})), Verification::valid);
  entries.append(" ").append(kV1a);
  EXPECT_EQ(verify_header(entries, receivers({kPublic})), Verification::too_many_signatures);
}

TEST(WebhookSignature, ABodyIsBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (const std::string& body : {std::string(), bytes, std::string(100'000, '\0')}) {
    for (const Scheme scheme : {Scheme::v1, Scheme::v1a}) {
      const std::vector<SigningKey> keys{SigningKey::generate(scheme)};
      const std::vector<VerifyingKey> known{keys[0].verifying_key()};
      const auto headers = sign(keys, "m", kTime, body);
      const ReceivedHeaders received{
          .id = headers->id, .timestamp = headers->timestamp, .signature = headers->signature};
      EXPECT_EQ(verify(known, received, body, kTime), Verification::valid);
      EXPECT_EQ(verify(known, received, body + '\0', kTime), Verification::no_match);
    }
  }
}

TEST(WebhookSignature, ATimeBefore1970CannotBeSigned) {
  const auto keys = senders({kSecret});
  EXPECT_EQ(sign(keys, kId, UnixTime{milliseconds(-1)}, kBody).error(),
            "a webhook-timestamp is from 0 to 999999999999; it is -1");
}

TEST(WebhookSignature, TheHeadersAreFoundByTheirNames) {
  const ReceivedHeaders headers =
      received_headers([](std::string_view name) -> std::optional<std::string_view> {
        if (name == "webhook-id") return kId;
        if (name == "webhook-timestamp") return "1614265330";
        if (name == "webhook-signature") return kV1;
        return std::nullopt;
      });
  EXPECT_EQ(verify(receivers({kSecret}), headers, kBody, kTime), Verification::valid);
}

}  // namespace
}  // namespace damper::webhooks
