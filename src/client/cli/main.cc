// SPDX-License-Identifier: Apache-2.0
// The program `berth`. All it does is in run_berth, which tests call as well.
#include <string>
#include <vector>

#include "cli/verb.h"
#include "os/unique_fd.h"

int main(int argc, char** argv) {
  berth::os::hold_standard_descriptors();
  return berth::cli::run_as(argc > 0 ? argv[0] : "",
                            std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
