// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/place.h"

#include <cstdlib>

#include "os/files.h"
#include "os/paths.h"

namespace berth::simgpu {

Result<WorldPlace> world_place_from_environment() {
  const os::Environment env = os::read_environment();
  if (env.sim.empty()) {
    return Error{Errc::kUnavailable,
                 "this is Berth's simulated driver, and BERTH_SIM does not say what to simulate "
                 "(write for example BERTH_SIM=1x16GiB)"};
  }
  WorldPlace place;
  place.spec_text = env.sim;
  TRY(spec, parse_spec(place.spec_text));
  place.spec = std::move(spec);
  TRY(name, os::world_of(env));
  place.name = std::move(name);
  const char* directory = std::getenv("BERTH_SIM_DIR");
  if (directory != nullptr && *directory != '\0') {
    place.directory = directory;
    place.shared = true;
    TRY_STATUS(os::make_directories(place.directory));
    return place;
  }
  TRY(places, os::paths_of(env, os::Mode::kUser, ""));
  place.directory = places.runtime_dir;
  TRY_STATUS(os::make_private_directory(place.directory));
  return place;
}

}  // namespace berth::simgpu
