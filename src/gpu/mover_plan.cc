// SPDX-License-Identifier: Apache-2.0
#include "gpu/mover_plan.h"

#include <cstdlib>

#include "base/simulated.h"
#include "os/programs.h"

namespace berth::gpu {

Result<os::ChildPlan> mover_plan(const std::string& sim) {
  TRY(program, os::sibling_program("berth-mover"));
  os::ChildPlan plan{.program = program, .arguments = {}, .library_path = {}};
  if (!sim.empty()) {
    const char* path = std::getenv("LD_LIBRARY_PATH");
    plan.library_path = simulated_library_path(program, path == nullptr ? "" : path, sim);
  }
  return plan;
}

}  // namespace berth::gpu
