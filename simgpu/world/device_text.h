// SPDX-License-Identifier: Apache-2.0
// Text forms of a simulated device: UUID, name, PCI address. The same for CUDA, NVML and
// berth-simctl. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "simgpu/world/world_file.h"

namespace berth::simgpu {

/// "GPU-01234567-89ab-4cde-8f01-23456789abcd".
std::string uuid_text(const DeviceState& device);

/// "RTX-5080 (simulated)".
std::string name_text(const DeviceState& device);

/// "00000000:01:00.0": the n-th device is on bus n + 1. CUDA writes a domain of four digits.
std::string pci_text(std::uint32_t device, int domain_digits);

}  // namespace berth::simgpu
