// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/device_text.h"

#include <cstdio>

namespace berth::simgpu {

std::string uuid_text(const DeviceState& device) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < device.uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[device.uuid[i] >> 4U];
    text += "0123456789abcdef"[device.uuid[i] & 0xfU];
  }
  return text;
}

std::string name_text(const DeviceState& device) {
  return std::string(device.model.data()) + " (simulated)";
}

std::string pci_text(std::uint32_t device, int domain_digits) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%0*x:%02x:00.0", domain_digits, 0U, device + 1);
  return text.data();
}

}  // namespace berth::simgpu
