// SPDX-License-Identifier: Apache-2.0
// The kernel's own limits on the memory of devices: the controller `dmem` of control groups (Linux
// 6.14), for devices whose driver takes part in it. Berth looks whether it is there and does
// nothing with it yet. Source: Documentation/admin-guide/cgroup-v2.rst of the kernel.
#include <algorithm>
#include <string>

#include "enforce/backend.h"
#include "os/files.h"

namespace berth::enforce {
namespace {

constexpr std::size_t kControlFileMax = 65'536;
constexpr std::size_t kRegionsMax = 64;

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

DmemFacts look_at_dmem(const std::string& cgroups) {
  DmemFacts facts;
  const auto controllers = os::read_file(cgroups + "/cgroup.controllers", kControlFileMax);
  facts.controller = controllers.ok() && has_word(*controllers, "dmem");
  const auto capacities = os::read_file(cgroups + "/dmem.capacity", kControlFileMax);
  if (!facts.controller || !capacities.ok()) return facts;
  // "drm/0000:03:00.0/vram0 8514437120" a line.
  std::string_view rest = *capacities;
  while (!rest.empty() && facts.regions.size() < kRegionsMax) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view region = line.substr(0, line.find(' '));
    if (!region.empty()) facts.regions.emplace_back(region);
  }
  return facts;
}

Availability dmem_availability(const Facts& facts) {
  const std::string nobody = "nothing is lost by it: Berth does not use it yet";
  if (!facts.dmem.controller) {
    return {.available = false,
            .fact = "the kernel has no controller for the memory of devices (dmem)",
            .consequence = nobody,
            .cure = {}};
  }
  if (facts.dmem.regions.empty()) {
    return {.available = false,
            .fact = "the kernel has dmem, and no driver of a device takes part in it",
            .consequence = nobody,
            .cure = {}};
  }
  std::string listed;
  for (const std::string& region : facts.dmem.regions) {
    listed += (listed.empty() ? "" : ", ") + region;
  }
  return {.available = true,
          .fact = "the kernel can limit " + listed + " (dmem); Berth does not use it yet",
          .consequence = {},
          .cure = {}};
}

}  // namespace berth::enforce
