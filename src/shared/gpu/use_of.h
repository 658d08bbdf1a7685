// SPDX-License-Identifier: Apache-2.0
// Device memory of given processes, by NVML. Its calls may hang; see nvml.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/transfer.h"

namespace berth::gpu {

/// Of all of them together; devices on which they have nothing are not named. Absent: there is no
/// NVML, a device does not answer, or one of them is not listed or without a figure.
std::optional<std::vector<DeviceUse>> use_of(std::span<const std::int32_t> pids,
                                             const std::string& library = "libnvidia-ml.so.1");

}  // namespace berth::gpu
