#ifndef DAMPER_CLI_CTL_CLIENT_H_
#define DAMPER_CLI_CTL_CLIENT_H_

#include <memory>
#include <string>

#include "damper/base/expected.h"

namespace damper::cli {

// Why there is no answer that says yes.
struct CtlError {
  std::string sentence;
  int status = 0;  // the exit status: kTrouble, or kRefused when the proxy said no
};

// A CtlClient asks a proxy's admin pages.
//
// Model: one attempt, kPatience long. Every error is a sentence that says what to do next.
// Thread safety: none.
class CtlClient {
 public:
  // `admin` is "http://127.0.0.1:9901", or without the scheme. The token file may be empty.
  [[nodiscard]] static Expected<CtlClient, CtlError> open(const std::string& admin,
                                                          const std::string& token_file);
  CtlClient(CtlClient&&) noexcept;
  CtlClient& operator=(CtlClient&&) noexcept;
  ~CtlClient();

  // The body of a 200. `last_event` is of GET /events: the number that was seen last.
  [[nodiscard]] Expected<std::string, CtlError> get(const std::string& target,
                                                    const std::string& last_event = {});
  [[nodiscard]] Expected<std::string, CtlError> put(const std::string& target, std::string json);
  [[nodiscard]] Expected<std::string, CtlError> post(const std::string& target);

  // "127.0.0.1:9901"
  [[nodiscard]] const std::string& where() const noexcept;

 private:
  class Inside;
  explicit CtlClient(std::unique_ptr<Inside> inside);

  std::unique_ptr<Inside> inside_;
};

}  // namespace damper::cli

#endif  // DAMPER_CLI_CTL_CLIENT_H_
