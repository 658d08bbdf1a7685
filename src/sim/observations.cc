// SPDX-License-Identifier: Apache-2.0
#include "sim/observations.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "core/limits.h"

namespace berth::sim {
namespace {

bool is_member_or_below(const Observations& observations, const ReferenceLease& lease,
                        Process process) {
  const auto names = [&](const Process& one) {
    return one == lease.members.command || one == lease.supervisor ||
           lease.members.processes.contains(one);
  };
  return names(process) || std::ranges::any_of(observations.processes.ancestors(process), names);
}

/// What an inner lease has left behind counts for the outer one, if that holds this device.
bool is_adopted(const Observations& observations, const Device& device, Process process) {
  return std::ranges::any_of(observations.journal.leases(), [&](const auto& entry) {
    const ReferenceLease& lease = entry.second;
    return lease.budget_on(device.id) > Bytes{} && is_member_or_below(observations, lease, process);
  });
}

/// It is over, and no sample since has told what it used, or since what was on its way has come
/// back: nobody can know of more than its budget.
bool is_unknown(const Observations& observations, const ReferenceLease& lease) {
  if (lease.state != ReferenceLease::State::kReleasing) return false;
  const Instant since =
      std::max(lease.times.of<LeaseReleasing>(), observations.of(lease.id).back_at);
  return since > observations.last_asked_at &&
         lease.resizing.shrunk_at <= observations.last_asked_at;
}

/// Of the dead the driver tells the pid alone, and pids come again: it counts for a lease there
/// that is known to have had that pid.
bool is_taken_for_anothers(const Observations& observations, const Device& device, const Use& use) {
  return use.ended && std::ranges::any_of(observations.journal.leases(), [&](const auto& entry) {
           const ReferenceLease& lease = entry.second;
           return lease.budget_on(device.id) > Bytes{} && lease.members.had_pid(use.process.pid);
         });
}

/// Still held on the device by processes of leases that hold nothing any more.
Bytes left_over(const Observations& observations, const Device& device) {
  Bytes sum;
  std::map<LeaseId, Bytes> unknown_use;
  for (const Use& use : device.uses) {
    const ReferenceLease* lease = use.lease ? observations.journal.find(*use.lease) : nullptr;
    // What is offered has no processes yet: these are of an earlier run.
    const bool runs = lease != nullptr && lease->state == ReferenceLease::State::kClaimed;
    if (!use.lease || runs || is_adopted(observations, device, use.process)) continue;
    if (is_taken_for_anothers(observations, device, use)) continue;
    const bool unknown_since = lease != nullptr && is_unknown(observations, *lease);
    const bool is_part = unknown_since && std::ranges::find(lease->parts, device.id,
                                                            &Part::device) != lease->parts.end();
    // It was moved away from here, and this process was never seen.
    if (unknown_since && !is_part && !observations.sampled_uses.contains({device.id, use.process}))
      continue;
    (is_part ? unknown_use[lease->id] : sum) += use.bytes;
  }
  for (const auto& [id, bytes] : unknown_use) {
    const std::vector<Part>& parts = observations.journal.leases().at(id).parts;
    sum += std::min(bytes, std::ranges::find(parts, device.id, &Part::device)->budget);
  }
  return sum;
}

/// Used beyond budgets that have shrunk, by leases of which no sample has told since.
Bytes beyond_budgets(const Observations& observations, const Device& device) {
  Bytes sum;
  for (const auto& [id, lease] : observations.journal.leases()) {
    if (lease.budget_on(device.id) == Bytes{} ||
        lease.resizing.shrunk_at <= observations.last_asked_at)
      continue;
    sum += saturating_sub(device.used_by(lease.handle), lease.budget_on(device.id));
  }
  return sum;
}

std::string broken_on_device(const Observations& observations, const ReferenceLease& lease,
                             const Device& device) {
  const Bytes budgets = observations.journal.budgets_on(device.id);
  // The reserve, which was raised since, is kept for others.
  const bool resumes_alone =
      lease.is_away(ReferenceLease::Away::kSwappingIn) && budgets == lease.budget_on(device.id);
  if (budgets + observations.reserve_on(device.id) > device.capacity && !resumes_alone) {
    return fmt::format("budgets of {} on a device of {} with {} in reserve", budgets.value,
                       device.capacity.value, observations.reserve_on(device.id).value);
  }
  const Bytes left = left_over(observations, device);
  if (budgets + left > device.usable()) {
    return fmt::format("budgets of {} while {} of {} are still in use by what has ended",
                       budgets.value, left.value, device.usable().value);
  }
  const Bytes beyond = beyond_budgets(observations, device);
  if (budgets + left + beyond > device.usable()) {
    return fmt::format(
        "budgets of {} while {} are in use beyond budgets that have shrunk, on {}: <{}>",
        budgets.value, beyond.value, device.usable().value, lease.describe());
  }
  if (observations.sampled_lost.contains(device.id)) return "a grant on a lost device";
  for (const auto& [id, other] : observations.journal.leases()) {
    if (id == lease.id || other.budget_on(device.id) == Bytes{}) continue;
    if (other.request.share == Share::kExclusive || lease.request.share == Share::kExclusive) {
      return fmt::format("lease {} beside lease {}, one of them exclusive", lease.id.value,
                         id.value);
    }
  }
  return {};
}

std::size_t count_of(const Request& request) {
  return request.devices.empty() ? request.device_count : request.devices.size();
}

// However empty the devices were.
bool never_fits(const Observations& observations, const Request& request) {
  std::vector<std::string> models;
  for (std::size_t i = 0; i < observations.devices.count(); ++i) {
    const Device& device = observations.devices.at(i);
    const Bytes reserve = std::max(observations.reserve_on(device.id),
                                   device.figures.driver_reserved.value_or(Bytes{}));
    const Bytes room = saturating_sub(device.capacity, reserve);
    const bool fits = room > Bytes{} && request.vram <= room;
    if (fits && may_be_on(request, device.id, i)) models.push_back(device.model);
  }
  return !are_enough(request, models);
}

bool is_alive(const Observations& observations, const std::optional<Process>& process) {
  return process && observations.processes.alive(*process);
}

/// On the device, since a sample could tell what the lease used; its last one, if it is over.
Bytes largest_budget(const ReferenceLease& lease, const Known& known, DeviceId device) {
  Bytes largest;
  for (std::size_t i = 0; i < lease.parts.size(); ++i) {
    if (lease.parts[i].device != device) continue;
    largest = lease.parts[i].budget;
    if (i < known.largest.size()) largest = std::max(largest, known.largest[i]);
  }
  return largest;
}

/// By the truth. What one that is over was granted was granted beside others, and what it used
/// beyond that cannot be taken from them.
bool is_above_budget(const Observations& observations, const ReferenceLease& lease,
                     const Device& device) {
  const Bytes used = device.used_by(lease.handle);
  if (lease.holds()) return used > lease.budget_on(device.id);
  const Bytes most = largest_budget(lease, observations.of(lease.id), device.id);
  return most > Bytes{} && used > most;
}

// Who was found free has ended but for the word of its supervisor. If the list lacked what it still
// has, the total tells of that, and it is in the reserve with those whom the operator ignores.
bool is_left_behind(const Observations& observations, const ReferenceLease& lease) {
  if (lease.state == ReferenceLease::State::kWaiting) return true;
  return lease.state == ReferenceLease::State::kReleasing && observations.of(lease.id).found_free &&
         observations.settings.unmanaged == Unmanaged::kIgnore;
}

}  // namespace

const Known& Observations::of(LeaseId lease) const {
  static const Known kNothing;
  const auto found = known.find(lease);
  return found == known.end() ? kNothing : found->second;
}

std::optional<LeaseId> Observations::last_with(std::int32_t pid) const {
  std::optional<LeaseId> last;
  std::uint64_t began = 0;
  for (const auto& [id, lease] : journal.leases()) {
    for (const std::set<Process>* those : {&lease.members.ever, &of(id).leftovers}) {
      for (const Process& one : *those) {
        if (one.pid != pid || one.start_ticks < began) continue;
        last = id;
        began = one.start_ticks;
      }
    }
  }
  return last;
}

bool may_be_on(const Request& request, DeviceId device, std::size_t index) {
  const auto is_it = [&](const DeviceName& name) {
    const auto* id = std::get_if<DeviceId>(&name);
    return id != nullptr ? *id == device : std::get<std::uint32_t>(name) == index;
  };
  return request.devices.empty() || std::ranges::any_of(request.devices, is_it);
}

bool are_enough(const Request& request, std::span<const std::string> models) {
  const bool any_model = request.mixed || !request.devices.empty();
  std::map<std::string, std::size_t> able;
  return std::ranges::any_of(models, [&](const std::string& model) {
    return ++able[any_model ? std::string() : model] >= count_of(request);
  });
}

Bytes Observations::reserve_on(DeviceId device) const {
  const auto own = settings.device_reserve.find(device);
  return own == settings.device_reserve.end() ? settings.reserve : own->second;
}

std::string check_grant(const Observations& observations, const ReferenceLease& lease,
                        const ReferenceLease& before) {
  const Request& request = lease.request;
  if (lease.parts.size() != count_of(request)) return "not as many devices as were asked for";
  std::set<DeviceId> seen;
  std::set<std::string> models;
  for (const Part& part : lease.parts) {
    const std::optional<std::size_t> index = observations.devices.index_of(part.device);
    if (!index) return "a grant on a device that is not there";
    const Device& device = observations.devices.at(*index);
    if (!seen.insert(part.device).second) return "one device twice in a lease";
    if (!lease.absence.migrated && !may_be_on(request, device.id, *index)) {
      return "a device that was not asked for";
    }
    models.insert(device.model);
    if (part.budget == Bytes{}) return "an empty budget";
    // One resize may grow a lease on one device and shrink it on another.
    if (part.budget <= before.budget_on(part.device)) continue;
    if (std::string broken = broken_on_device(observations, lease, device); !broken.empty()) {
      return fmt::format("lease {}: {} (before: <{}>)", lease.id.value, broken, before.describe());
    }
  }
  if (models.size() > 1 && !request.mixed && request.devices.empty()) return "mixed models";
  return {};
}

std::string check_user(const Observations& observations, const ReferenceLease& granted) {
  const core::UserLimits& limits = observations.settings.limits_default;
  std::size_t held = 0;
  Bytes vram;
  for (const auto& [id, lease] : observations.journal.leases()) {
    if (lease.user != granted.user || !lease.holds()) continue;
    ++held;
    for (const Part& part : lease.parts) vram += part.budget;
  }
  if (held <= limits.leases_max && vram <= limits.vram_max) return {};
  return fmt::format("lease {} was granted to a user who has {} leases and {} bytes by that",
                     granted.id.value, held, vram.value);
}

std::string check_member(const Observations& observations, const ReferenceLease& lease,
                         Process process) {
  const Processes::Birth* birth = observations.processes.find(process);
  if (birth == nullptr || birth->lease == lease.handle) return {};  // Or it has died meanwhile.
  const std::vector<Process> above = observations.processes.ancestors(process);
  const bool is_below = std::ranges::any_of(above, [&](const Process& ancestor) {
    return is_member_or_below(observations, lease, ancestor);
  });
  if (is_below) return {};
  // Nor may it be below any more: its supervisor told of it and has ended since.
  const std::set<Process>& reported = observations.of(lease.id).leftovers;
  const auto was_told = [&](const Process& one) { return reported.contains(one); };
  if (was_told(process) || std::ranges::any_of(above, was_told)) return {};
  return fmt::format("process {} became a member of <{}>, to which it does not belong", process.pid,
                     lease.describe());
}

std::string check_end(const Observations& observations, const ReferenceLease& lease,
                      EndResult result, core::Now now) {
  const Known& known = observations.of(lease.id);
  const auto because = [&](std::string_view what) {
    return fmt::format("lease {} ended ({}) although {}: <{}>", lease.id.value, to_text(result),
                       what, lease.describe());
  };
  if (observations.rebooted || known.released || lease.kill_at ||
      observations.is_behind(now.instant) || result == EndResult::kLimit) {
    return {};
  }
  switch (lease.state) {
    case ReferenceLease::State::kReleasing:
      return {};
    case ReferenceLease::State::kWaiting:
    case ReferenceLease::State::kOffered: {
      const bool waited =
          lease.request.wait_max && lease.queued_at() + *lease.request.wait_max <= now.instant;
      const bool absent = observations.daemon_since > lease.queued_at() &&
                          known.reconnected_at < observations.daemon_since &&
                          observations.daemon_since + limits::kReconnectWithin <= now.instant;
      const bool dead = lease.supervisor && !observations.processes.alive(*lease.supervisor);
      const bool alone = known.requester_gone || absent || dead;
      if (waited || (alone && !lease.kept)) return {};
      if (result == EndResult::kRefused && never_fits(observations, lease.request)) return {};
      return because("its client still waits");
    }
    case ReferenceLease::State::kClaimed:
      break;
  }
  if (lease.request.ttl) {
    const bool expired = lease.expires && *lease.expires <= now.instant;
    const bool hangs = is_alive(observations, lease.supervisor) || !lease.supervisor;
    return !expired && hangs ? because("it has not expired") : std::string();
  }
  if (is_alive(observations, lease.members.command)) return because("its command lives");
  if (lease.request.leftovers != Leftovers::kWait) return {};
  const auto lives = [&](const Process& one) { return observations.processes.alive(one); };
  const bool member_lives = std::ranges::any_of(lease.members.processes, lives);
  return member_lives ? because("a process of it lives") : std::string();
}

std::string check_end_on_the_way(const Observations& observations, const ReferenceLease& lease,
                                 core::Now now) {
  if (observations.is_behind(now.instant) || !observations.coming_back.contains(lease.id))
    return {};
  const auto comes = [&](const Process& process) {
    return observations.processes.alive(process) && observations.devices.is_swapped_out(process);
  };
  const ReferenceLease::Members& members = lease.members;
  const bool command_comes = members.command && comes(*members.command);
  if (!std::ranges::any_of(members.processes, comes) && !command_comes) return {};
  return fmt::format("lease {} ended while its memory is on the way back: <{}>", lease.id.value,
                     lease.describe());
}

std::string check_migration(const Observations& observations, const ReferenceLease& lease,
                            const ReferenceLease& before) {
  std::set<DeviceId> devices;
  for (std::size_t i = 0; i < lease.parts.size(); ++i) {
    const auto from = observations.devices.index_of(before.parts[i].device);
    const auto to = observations.devices.index_of(lease.parts[i].device);
    if (!from || !to || !devices.insert(lease.parts[i].device).second) return "no such place";
    if (observations.devices.at(*from).model == observations.devices.at(*to).model) continue;
    return fmt::format("lease {} goes to a device of another model: <{}>", lease.id.value,
                       lease.describe());
  }
  return {};
}

std::string check_place(const Observations& observations, LeaseId lease, Process process) {
  const ReferenceLease* known = observations.journal.find(lease);
  if (known == nullptr || !known->holds()) return {};
  for (std::size_t index = 0; index < observations.devices.count(); ++index) {
    const Device& device = observations.devices.at(index);
    const std::vector<DeviceId>& left = known->absence.moved_from;
    const bool left_it = std::ranges::find(left, device.id) != left.end();
    if (device.lost || !left_it || known->budget_on(device.id) > Bytes{}) continue;
    if (device.used_by(process) == Bytes{}) continue;
    return fmt::format("process {} was brought back to device {}, which its lease has left: <{}>",
                       process.pid, index, known->describe());
  }
  return {};
}

std::string check_freeing(const Observations& observations, const ReferenceLease& before,
                          core::Now now) {
  if (before.state != ReferenceLease::State::kReleasing || observations.rebooted) return {};
  const bool is_over = before.times.of<LeaseReleasing>() + limits::kReleasingMax <= now.instant;
  if (is_over || before.members.ended_at <= observations.last_asked_at) return {};
  return fmt::format("lease {} is free, and the driver was not asked since its end: <{}>",
                     before.id.value, before.describe());
}

std::string check_resume(const Observations& observations, const ReferenceLease& before,
                         core::Now now) {
  const bool is_over = before.pause.until && *before.pause.until <= now.instant;
  const bool may = !before.pause.paused || before.pause.frozen || is_over ||
                   observations.of(before.id).resumed_by_somebody;
  if (may) return {};
  return fmt::format("lease {} is brought back although somebody paused it: <{}>", before.id.value,
                     before.describe());
}

std::string check_out_of_memory(const Observations& observations, std::size_t index) {
  const Device& device = observations.devices.at(index);
  if (device.lost) return {};
  Bytes others = device.figures.driver_reserved.value_or(Bytes{});
  for (const Use& use : device.uses) {
    const Handle handle = use.lease.value_or(Handle{});
    const ReferenceLease* lease = observations.journal.find(handle);
    if (lease == nullptr || is_left_behind(observations, *lease)) {
      others += use.bytes;  // Nobody's, or left behind by who ended or was requeued: all unmanaged.
    } else if (is_above_budget(observations, *lease, device)) {
      return {};  // A lease is above its budget.
    }
  }
  if (others > observations.reserve_least) return {};
  for (const auto& [id, lease] : observations.journal.leases()) {
    // So is one whose memory comes back, and is more; but not if it may be left from a larger
    // budget.
    const bool returns = lease.holds() && lease.is_away(ReferenceLease::Away::kSwappingIn);
    if (!returns) continue;
    const auto from = observations.devices.index_of(lease.left_from(device.id));
    const Bytes away = from ? observations.devices.away_of(lease.handle, *from) : Bytes{};
    const Bytes most = largest_budget(lease, observations.of(id), device.id);
    if (device.used_by(lease.handle) + away > most) return {};
  }
  std::string holders;
  for (const auto& [id, lease] : observations.journal.leases()) {
    const Bytes used = device.used_by(lease.handle);
    if (used == Bytes{} && lease.budget_on(device.id) == Bytes{}) continue;
    holders += fmt::format("; {} of <{}>", used.value, lease.describe());
  }
  return fmt::format(
      "out of memory inside a budget: {} of {} on device {} are used, {} of it by unmanaged "
      "processes{}",
      device.used().value, device.usable().value, index, others.value, holders);
}

}  // namespace berth::sim
