#include "damper/queue/work_queue/finish.h"

namespace damper::queue {

using decide::Outcome;

decide::Report report_of(const Finish& finish, bool stopping) noexcept {
  switch (finish.how) {
    case Finish::How::done:
    case Finish::How::requeue: return {};
    case Finish::How::terminal: return {.outcome = Outcome::permanent};
    case Finish::How::failed: break;
  }
  decide::Report report = finish.report;
  if (report.outcome == Outcome::success) report.outcome = Outcome::permanent;
  if (report.outcome == Outcome::cancelled && !stopping) report.outcome = Outcome::timeout;
  return report;
}

std::string_view shortened(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
  };
  while (most > 0 && continues(most)) --most;
  return text.substr(0, most);
}

}  // namespace damper::queue
