// SPDX-License-Identifier: Apache-2.0
// One lease as the journal describes it, and the lease that a process belonged to.
#include <fmt/core.h>

#include <algorithm>

#include "sim/reference_model.h"

namespace berth::sim {

bool ReferenceLease::Members::had_pid(std::int32_t pid) const {
  return std::ranges::find(ever, pid, &Process::pid) != ever.end();
}

void ReferenceLease::Absence::put_on(const std::vector<DeviceId>& devices,
                                     std::vector<Part>& placed) {
  const bool is_first = moved_from.empty();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (is_first) moved_from.push_back(placed[i].device);
    placed[i].device = devices[i];
  }
  if (moved_from == devices) moved_from.clear();
  migrated = true;
}

Instant ReferenceLease::stands_since() const {
  return std::max(times.of<LeaseSuspended>(), times.of<LeaseThawed>());
}

Bytes ReferenceLease::budget_on(DeviceId device) const {
  const auto part = std::ranges::find(parts, device, &Part::device);
  return part == parts.end() || !holds() || is_away(Away::kSuspended) ? Bytes{} : part->budget;
}

DeviceId ReferenceLease::left_from(DeviceId device) const {
  for (std::size_t i = 0; i < absence.moved_from.size(); ++i) {
    if (parts[i].device == device) return absence.moved_from[i];
  }
  return device;
}

void ReferenceLease::goes_on() {
  if (!pause.frozen) pause = {};
}

ReferenceLease ReferenceLease::queued_again(std::uint32_t begun) const {
  return {.id = id,
          .handle = handle,
          .user = user,
          .kept = kept,
          .request = request,
          .place = {.on_hold = place.on_hold, .sequence = place.sequence},
          .save = save,
          .requeue = {.restarts = requeue.restarts + begun},
          .measures = measures};
}

std::string ReferenceLease::describe() const {
  std::string text =
      fmt::format("lease {} state {}{}{}{}{}", id.value, static_cast<int>(state),
                  place.parked ? " parked" : "", kill_at ? " revoked" : "",
                  resizing.growth ? " growing" : "", members.command_ended ? " command ended" : "");
  text += fmt::format(" saves {}{}", save.asked, save.number ? ", one under way" : "");
  if (messages.count() > 0) text += fmt::format(" messages {}", messages.count());
  if (holds() && !is_away(Away::kNo)) {
    text += fmt::format(" away {}{}{}", static_cast<int>(absence.away),
                        absence.wanted_back ? " wanted back" : "", absence.turn ? " in turns" : "");
    for (const DeviceId device : absence.moved_from) text += fmt::format(" from {:x}", device.high);
  }
  text += fmt::format(" restarts {}{}{}{}", requeue.restarts, requeue.asked ? " requeuing" : "",
                      requeue.asked && requeue.asked->unsaved ? " unsaved" : "",
                      requeue.stop_at ? " stopping" : "");
  if (pause.frozen) text += " frozen";
  if (pause.paused) {
    text += fmt::format(" paused until {}", pause.until.value_or(Instant::never()).ns);
  }
  text += measures.describe();
  for (const Part& part : parts)
    text += fmt::format(" {:x}:{}", part.device.high, part.budget.value);
  if (const auto& command = members.command) {
    text += fmt::format(" command {}/{}", command->pid, command->start_ticks);
  }
  for (const Process& member : members.processes) text += fmt::format(" member {}", member.pid);
  return text;
}

}  // namespace berth::sim
