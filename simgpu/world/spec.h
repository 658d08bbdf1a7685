// SPDX-License-Identifier: Apache-2.0
// What BERTH_SIM says: the devices of a simulated world. Reads a string and nothing else; any
// thread may call it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace berth::simgpu {

constexpr std::size_t kDevicesMax = 16;
constexpr std::size_t kModelLengthMax = 63;

struct DeviceSpec {
  std::string model;
  Bytes capacity;
};

struct WorldSpec {
  std::vector<DeviceSpec> devices;  // 1 to kDevicesMax, in PCI order.
  Bytes context = mib(300);         // What a process pays on each device where it has a context.
  Bytes reserved;                   // What the driver keeps for itself on each device.
};

/// "2x16GiB", "16GiB", "1x16GiB:RTX-5080,1x24GiB", "2x16GiB,context=64MiB,reserved=256MiB".
Result<WorldSpec> parse_spec(std::string_view text);

}  // namespace berth::simgpu
