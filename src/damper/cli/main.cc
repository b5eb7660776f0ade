#include <iostream>
#include <string>
#include <vector>

#include "damper/cli/program.h"

int main(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  const int status = damper::cli::run(std::move(arguments), {std::cin, std::cout, std::cerr});
  if (std::cout.flush()) return status;
  std::cerr << "damper: standard output cannot be written\n";
  return damper::cli::kTrouble;
}
