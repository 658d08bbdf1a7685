// SPDX-License-Identifier: Apache-2.0
// Specification of a simulated world's devices, as BERTH_SIM has it. Reads a string and nothing
// else; any thread may call it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace berth::simgpu {

constexpr std::size_t kDevicesMax = 16;
constexpr std::size_t kModelLengthMax = 63;

/// The versions of CUDA of which there is a driver, and what that driver's own is; of NVIDIA's, the
/// first that had this CUDA. The last one is made up. simgpu/CMakeLists.txt builds them.
struct CudaVersion {
  std::string_view text;
  int number;
  std::string_view driver;
};
constexpr CudaVersion kCudaVersions[] = {
    {"11.0", 11000, "450"}, {"11.4", 11040, "470"}, {"12.0", 12000, "525"}, {"12.9", 12090, "575"},
    {"13.0", 13000, "580"}, {"13.3", 13030, "610"}, {"99.0", 99000, "999"}};

struct DeviceSpec {
  std::string model;
  Bytes capacity;
};

struct WorldSpec {
  std::vector<DeviceSpec> devices;  // 1 to kDevicesMax, in PCI order.
  Bytes context = mib(300);         // What a process pays on each device where it has a context.
  bool context_known = true;        // Its driver tells that; a real one does not.
  bool entry_points_apart = false;  // cuGetProcAddress gives other addresses than dlsym.
  Bytes reserved;                   // What the driver keeps for itself on each device.
  int cuda = 12090;                 // What its driver offers, as cuDriverGetVersion says it.
  Bytes checkpoint_bandwidth;  // What a checkpoint or restore moves in a second; 0: all at once.
  Duration checkpoint_cost;    // What each of them takes besides.
  Bytes checkpoint_memory = gib(1024);  // Host memory for what was saved.
};

/// "2x16GiB", "16GiB", "1x16GiB:RTX-5080,1x24GiB",
/// "2x16GiB,context=64MiB,context_known=no,reserved=256MiB,cuda=11.4,entry_points=apart",
/// "1x16GiB,checkpoint_bandwidth=5GiB/s,checkpoint_cost=350ms,checkpoint_memory=64GiB".
Result<WorldSpec> parse_spec(std::string_view text);

}  // namespace berth::simgpu
