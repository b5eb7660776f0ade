// What a user writes first.

#include <damper/base/random.h>
#include <damper/base/thread_slot.h>
#include <damper/base/verdict.h>

#include <iostream>

int main() {
  damper::Random random(1);
  std::cout << damper::name(damper::Verdict::budget_spent) << ' ' << random.draw() << ' '
            << (damper::thread_slot() >= 0) << '\n';
  return 0;
}
