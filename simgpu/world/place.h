// SPDX-License-Identifier: Apache-2.0
// Name of the simulated world in the environment, and the directory its file lies in. Reads the
// environment and looks at directories; not for use beside a thread that changes the environment.
#pragma once

#include <string>

#include "base/result.h"
#include "simgpu/world/spec.h"

namespace berth::simgpu {

struct WorldPlace {
  std::string name;
  std::string directory;
  std::string spec_text;
  WorldSpec spec;
  bool shared = false;  // The directory was named by BERTH_SIM_DIR: other users may join.
};

/// From BERTH_SIM, BERTH_SIM_NAME and BERTH_SIM_DIR; makes the directory.
Result<WorldPlace> world_place_from_environment();

}  // namespace berth::simgpu
