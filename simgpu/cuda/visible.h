// SPDX-License-Identifier: Apache-2.0
// Choice and order of the devices that a program sees: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER
// as the CUDA programming guide describes them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::simgpu {

struct PhysicalDevice {
  std::string uuid;  // "GPU-…"
  std::uint64_t speed = 0;
};

/// Indices into devices, which are in PCI order. `visible`: unset shows all; else a list of numbers
/// and beginnings of UUIDs that ends before its first invalid entry. `pci_order` false: the fastest
/// first, as CUDA has it unless told otherwise.
std::vector<std::uint32_t> visible_devices(const std::vector<PhysicalDevice>& devices,
                                           std::optional<std::string_view> visible, bool pci_order);

}  // namespace berth::simgpu
