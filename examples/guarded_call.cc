// A guarded call: an operation is retried while that is worthwhile and safe.

#include <iostream>
#include <string>

#include "damper/damper.h"

using namespace std::chrono_literals;

namespace {

struct Invoice {
  std::string text;
};

// Stands for your client: the first answer is a 503, the second one is the invoice.
damper::Result<Invoice> fetch_invoice(int id, damper::Duration timeout) {
  static int calls = 0;
  if (timeout <= 0s) return damper::failed(damper::Outcome::timeout);
  if (++calls == 1) return damper::failed_http(503);
  return Invoice{"invoice " + std::to_string(id)};
}

}  // namespace

int main() {
  const int id = 42;
  // [call]
  damper::Dependency billing("billing");  // state shared by all calls to one service; keep it

  auto invoice = damper::call(billing, {.idempotent = true, .deadline = damper::in(800ms)},
                              [&](const damper::Attempt& attempt) -> damper::Result<Invoice> {
                                return fetch_invoice(id, attempt.timeout());  // one attempt
                              });
  if (!invoice) std::cerr << "billing: " << damper::name(invoice.verdict()) << '\n';
  // [/call]
  if (!invoice) return 1;
  std::cout << invoice->text << " after " << invoice.attempts() << " attempts\n";
  return 0;
}
