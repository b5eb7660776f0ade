#include "damper/decide/classify_errno.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <future>
#include <map>
#include <string>
#include <system_error>

namespace damper::decide {
namespace {

const std::map<int, Outcome>& table() {
  static const std::map<int, Outcome> kTable = {
      {ECONNREFUSED, Outcome::unavailable}, {EHOSTUNREACH, Outcome::unavailable},
      {ENETUNREACH, Outcome::unavailable},  {EHOSTDOWN, Outcome::unavailable},
      {ENETDOWN, Outcome::unavailable},     {EADDRNOTAVAIL, Outcome::unavailable},
      {ETIMEDOUT, Outcome::timeout},        {ECONNRESET, Outcome::transient},
      {ECONNABORTED, Outcome::transient},   {ENETRESET, Outcome::transient},
      {EPIPE, Outcome::transient},          {EAGAIN, Outcome::transient},
      {EWOULDBLOCK, Outcome::transient},    {EINTR, Outcome::transient},
      {EMFILE, Outcome::overload},          {ENFILE, Outcome::overload},
      {ENOBUFS, Outcome::overload},         {ENOMEM, Outcome::overload},
      {ECANCELED, Outcome::cancelled},      {0, Outcome::success}};
  return kTable;
}

TEST(ClassifyErrno, EveryErrnoIsInTheTable) {
  for (int value = 0; value < 256; ++value) {
    const auto found = table().find(value);
    const Outcome expected = found == table().end() ? Outcome::permanent : found->second;
    EXPECT_EQ(classify(std::error_code(value, std::generic_category())), expected) << value;
    EXPECT_EQ(classify(std::error_code(value, std::system_category())), expected) << value;
  }
}

TEST(ClassifyErrno, AForeignCategoryIsPermanentWhateverItsNumber) {
  const std::error_code foreign(ECONNREFUSED, std::future_category());
  EXPECT_EQ(classify(foreign), Outcome::permanent);
}

TEST(ClassifyErrno, ACategoryThatMapsToGenericErrorsIsUnderstood) {
  class Client : public std::error_category {
    [[nodiscard]] const char* name() const noexcept override { return "client"; }
    [[nodiscard]] std::string message(int) const override { return "timed out"; }
    [[nodiscard]] std::error_condition default_error_condition(int) const noexcept override {
      return std::errc::timed_out;
    }
  };
  const Client client;
  EXPECT_EQ(classify(std::error_code(7, client)), Outcome::timeout);
}

// A category of a library that we do not include.
class Foreign final : public std::error_category {
 public:
  explicit Foreign(const char* name) : name_(name) {}
  [[nodiscard]] const char* name() const noexcept override { return name_; }
  [[nodiscard]] std::string message(int) const override { return name_; }

 private:
  const char* name_;
};

TEST(ClassifyErrno, CodesOfAsioAndBeastAreKnownByTheNameOfTheirCategory) {
  const auto outcome = [](const char* category, int value) {
    const Foreign foreign(category);
    return classify(std::error_code(value, foreign));
  };
  EXPECT_EQ(outcome("asio.misc", 2), Outcome::transient);
  EXPECT_EQ(outcome("asio.misc", 1), Outcome::permanent);  // Already open.
  EXPECT_EQ(outcome("asio.netdb", 1), Outcome::unavailable);
  EXPECT_EQ(outcome("asio.netdb", 2), Outcome::unavailable);
  EXPECT_EQ(outcome("asio.netdb", 3), Outcome::permanent);
  EXPECT_EQ(outcome("asio.ssl.stream", 1), Outcome::transient);
  EXPECT_EQ(outcome("boost.beast", 1), Outcome::timeout);
  EXPECT_EQ(outcome("boost.beast.http", 1), Outcome::transient);
  EXPECT_EQ(outcome("boost.beast.http", 2), Outcome::transient);
  EXPECT_EQ(outcome("other", 2), Outcome::permanent);
}

}  // namespace
}  // namespace damper::decide
