// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/visible.h"

#include <algorithm>
#include <numeric>

#include "base/number.h"

namespace berth::simgpu {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The one device whose UUID begins so.
std::optional<std::uint32_t> by_uuid(const std::vector<PhysicalDevice>& devices,
                                     std::string_view prefix) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (!devices[i].uuid.starts_with(prefix)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::optional<std::uint32_t> by_number(const std::vector<std::uint32_t>& order,
                                       std::string_view digits) {
  const auto number = parse_number<std::uint32_t>(digits);
  if (!number || *number >= order.size()) return std::nullopt;
  return order[*number];
}

}  // namespace

std::vector<std::uint32_t> visible_devices(const std::vector<PhysicalDevice>& devices,
                                           std::optional<std::string_view> visible,
                                           bool pci_order) {
  std::vector<std::uint32_t> order(devices.size());
  std::iota(order.begin(), order.end(), 0U);
  if (!pci_order) {
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return devices[a].speed != devices[b].speed ? devices[a].speed > devices[b].speed : a < b;
    });
  }
  if (!visible) return order;

  std::vector<std::uint32_t> shown;
  for (std::string_view rest = *visible;;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const std::string_view entry = trimmed(item);
    const auto device =
        entry.starts_with("GPU-") ? by_uuid(devices, entry) : by_number(order, entry);
    if (!device || std::ranges::find(shown, *device) != shown.end()) break;
    shown.push_back(*device);
    if (item.size() == rest.size()) break;
    rest.remove_prefix(item.size() + 1);
  }
  return shown;
}

}  // namespace berth::simgpu
