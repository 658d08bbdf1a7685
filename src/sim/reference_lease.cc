// SPDX-License-Identifier: Apache-2.0
// One lease as the journal describes it, and the lease that a process belonged to.
#include <fmt/core.h>

#include <algorithm>

#include "sim/reference_model.h"

namespace berth::sim {

Bytes ReferenceLease::budget_on(DeviceId device) const {
  const auto part = std::ranges::find(parts, device, &Part::device);
  return part == parts.end() || !holds() || away == Away::kSuspended ? Bytes{} : part->budget;
}

bool ReferenceLease::had_pid(std::int32_t pid) const {
  return std::ranges::any_of(belonged, [&](const Process& one) { return one.pid == pid; });
}

DeviceId ReferenceLease::left_from(DeviceId device) const {
  for (std::size_t i = 0; i < moved_from.size(); ++i) {
    if (parts[i].device == device) return moved_from[i];
  }
  return device;
}

void ReferenceLease::put_on(const std::vector<DeviceId>& devices) {
  const bool is_first = moved_from.empty();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (is_first) moved_from.push_back(parts[i].device);
    parts[i].device = devices[i];
  }
  if (moved_from == devices) moved_from.clear();
  migrated = true;
}

void ReferenceLease::goes_on() {
  if (!frozen) end_pause();
}

void ReferenceLease::end_pause() {
  paused = false;
  paused_until.reset();
}

std::string ReferenceLease::describe() const {
  std::string text = fmt::format("lease {} state {}{}{}{}{}", id.value, static_cast<int>(state),
                                 parked ? " parked" : "", kill_at ? " revoked" : "",
                                 growing ? " growing" : "", command_ended ? " command ended" : "");
  text += fmt::format(" saves {}{}", saves, saving ? ", one under way" : "");
  if (holds() && away != Away::kNo) {
    text += fmt::format(" away {}{}{}", static_cast<int>(away), wanted_back ? " wanted back" : "",
                        turn ? " in turns" : "");
    for (const DeviceId device : moved_from) text += fmt::format(" from {:x}", device.high);
  }
  text += fmt::format(" restarts {}{}{}{}", restarts, requeuing ? " requeuing" : "",
                      unsaved ? " unsaved" : "", stop_at ? " stopping" : "");
  if (frozen) text += " frozen";
  if (paused) text += fmt::format(" paused until {}", paused_until.value_or(Instant::never()).ns);
  text += measures.describe();
  for (const Part& part : parts)
    text += fmt::format(" {:x}:{}", part.device.high, part.budget.value);
  if (command) text += fmt::format(" command {}/{}", command->pid, command->start_ticks);
  for (const Process& member : members) text += fmt::format(" member {}", member.pid);
  return text;
}

}  // namespace berth::sim
