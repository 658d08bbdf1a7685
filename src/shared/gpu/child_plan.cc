// SPDX-License-Identifier: Apache-2.0
#include "gpu/child_plan.h"

#include <cstdlib>

#include "base/simulated.h"
#include "os/programs.h"

namespace berth::gpu {

Result<os::ChildPlan> child_plan(const std::string& name, const std::string& sim) {
  TRY(program, os::sibling_program(name));
  os::ChildPlan plan{.program = program, .arguments = {}, .library_path = {}};
  if (!sim.empty()) {
    const char* path = std::getenv("LD_LIBRARY_PATH");
    plan.library_path = simulated_library_path(program, path == nullptr ? "" : path, sim);
  }
  return plan;
}

}  // namespace berth::gpu
