#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "damper/base/check.h"
#include "damper/decide/outcome.h"

namespace damper::engine {

// A script says how each attempt of a call will go, for tests: the same one is played under every
// driver, and every driver must show the same trace.
//
// One letter for each attempt, in the order in which they are sent:
//   . success   t transient   T timeout   o overload   u unavailable   c conflict   p permanent
// After it, each optional: how many milliseconds it takes ("t5"), what the server said about when
// to come back, in milliseconds ("o+30"), and that it said not to come back at all ("t!").
struct ScriptedAttempt {
  decide::Report report;
  Duration takes{0};
};

[[nodiscard]] inline std::vector<ScriptedAttempt> parse_script(std::string_view text) {
  std::vector<ScriptedAttempt> script;
  const auto number = [&text] {
    std::int64_t value = 0;
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
      value = value * 10 + (text.front() - '0');
      text.remove_prefix(1);
    }
    return std::chrono::milliseconds(value);
  };
  while (!text.empty()) {
    constexpr std::string_view kLetters = ".tToucp";
    const std::size_t outcome = kLetters.find(text.front());
    DAMPER_CHECK(outcome != std::string_view::npos);
    text.remove_prefix(1);
    ScriptedAttempt attempt;
    attempt.report.outcome = static_cast<decide::Outcome>(outcome);
    attempt.takes = number();
    if (text.starts_with('+')) {
      text.remove_prefix(1);
      attempt.report.retry_after = number();
    }
    if (text.starts_with('!')) {
      text.remove_prefix(1);
      attempt.report.do_not_retry = true;
    }
    script.push_back(attempt);
  }
  return script;
}

// A Trace is what a driver did, in words: "send wait12 send success".
class Trace {
 public:
  void sent(bool hedge) { word(hedge ? "hedge" : "send"); }
  void waited(Duration length) {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    word("wait" + std::to_string(duration_cast<milliseconds>(length).count()));
  }
  void cancelled(int lane) { word("cancel" + std::to_string(lane)); }
  void ended(std::string_view verdict) { word(verdict); }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void word(std::string_view word) {
    if (!text_.empty()) text_ += ' ';
    text_ += word;
  }
  std::string text_;
};

}  // namespace damper::engine
