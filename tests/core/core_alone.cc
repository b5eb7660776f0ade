// A program of the core and nothing else: core_test.py asks which shared libraries it needs.

#include "damper/base/random.h"

int main() { return damper::Random(1).draw() < 1.0 ? 0 : 1; }
