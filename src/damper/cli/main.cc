#include <iostream>
#include <string>
#include <vector>

#include "damper/cli/program.h"

int main(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  return damper::cli::run(std::move(arguments), {std::cin, std::cout, std::cerr});
}
