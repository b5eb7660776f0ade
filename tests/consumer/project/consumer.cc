// A guarded call with the installed headers and library.

#include <damper/damper.h>

#include <iostream>

int main() {
  damper::Policy policy;
  policy.call.backoff.base = std::chrono::milliseconds(1);
  damper::Dependency store("store", policy);
  const auto answer = damper::call(store, {.idempotent = true},
                                   [](const damper::Attempt& attempt) -> damper::Result<int> {
                                     if (attempt.number() == 1)
                                       return damper::failed(damper::Outcome::transient);
                                     return 42;
                                   });
  std::cout << damper::name(answer.verdict()) << ' ' << *answer << " after " << answer.attempts()
            << " attempts\n";
  return answer ? 0 : 1;
}
