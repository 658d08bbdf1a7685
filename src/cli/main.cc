// SPDX-License-Identifier: Apache-2.0
// The program `berth`. All it does is in run_berth, which tests call as well.
#include <string>
#include <vector>

#include "cli/verb.h"

int main(int argc, char** argv) {
  return berth::cli::run_berth(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
