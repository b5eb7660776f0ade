#include "damper/base/text/base64.h"

#include <gtest/gtest.h>

namespace damper::text {
namespace {

TEST(Base64, TheExamplesOfTheRfc) {
  const std::pair<const char*, const char*> pairs[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : pairs) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(find_base64(text), bytes);
  }
}

TEST(Base64, EveryByteComesBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (std::size_t length = 0; length <= all.size(); ++length) {
    EXPECT_EQ(find_base64(to_base64(all.substr(0, length))), all.substr(0, length));
  }
}

TEST(Base64, WhatIsNotIsRefused) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "====", "Zh==", "Zm9=", "Z-9v", "Zm9v\n",
                           "Zg==Zg==", " Zg=", "Zm=v"}) {
    EXPECT_EQ(find_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace damper::text
