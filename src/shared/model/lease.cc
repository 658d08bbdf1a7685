// SPDX-License-Identifier: Apache-2.0
// Computed fields of a lease, as they are told and read back.
#include "model/lease.h"

#include <algorithm>

namespace berth {
namespace {

// Absent if a part is, or if there is no part.
std::optional<Bytes> sum_of(const std::vector<LeasePart>& parts, const auto& figure) {
  if (parts.empty()) return std::nullopt;
  Bytes sum;
  for (const LeasePart& part : parts) {
    const std::optional<Bytes> value = figure(part);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum;
}

std::optional<std::int32_t> pid_of(const std::optional<Process>& process) {
  return process ? std::optional(process->pid) : std::nullopt;
}

}  // namespace

std::uint32_t devices_wanted(const Request& request) {
  return request.devices.empty() ? request.device_count
                                 : static_cast<std::uint32_t>(request.devices.size());
}

Duration retry_delay(const Request& request, std::uint32_t left) {
  const Duration bound = std::max(kRetryAfterBound, request.retry_after);
  Duration delay = request.retry_after;
  for (std::uint32_t used = left; used < request.retry_max && delay < bound; ++used) {
    delay = delay + delay;
  }
  return std::min(delay, bound);
}

std::optional<Bytes> vram_requested(const LeaseView& lease) {
  const Bytes each = lease.request.vram;
  if (each == Bytes{}) return std::nullopt;
  const std::uint64_t count = devices_wanted(lease.request);
  return Bytes{each.value * std::min(count, Bytes::max().value / each.value)};
}
void set_vram_requested(LeaseView& lease, Bytes sum) {
  lease.request.vram = Bytes{sum.value / std::max<std::uint64_t>(1, devices_wanted(lease.request))};
}
std::optional<Bytes> vram_granted(const LeaseView& lease) {
  return sum_of(lease.parts, [](const LeasePart& part) { return std::optional(part.granted); });
}
std::optional<Bytes> vram_used(const LeaseView& lease) {
  return sum_of(lease.parts, [](const LeasePart& part) { return part.used; });
}
std::optional<Bytes> vram_peak(const LeaseView& lease) {
  return sum_of(lease.parts, [](const LeasePart& part) { return part.peak; });
}
std::optional<Bytes> vram_ledger(const LeaseView& lease) {
  return sum_of(lease.parts, [](const LeasePart& part) { return part.ledger; });
}

std::optional<Retry> next_attempt_of(const LeaseView& lease) {
  return lease.retries ? lease.retries->next : std::nullopt;
}

std::optional<std::int32_t> exit_code(const LeaseView& lease) {
  if (!lease.exit || lease.exit->signal != 0) return std::nullopt;
  return lease.exit->code;
}
std::optional<std::int32_t> exit_signal(const LeaseView& lease) {
  if (!lease.exit || lease.exit->signal == 0) return std::nullopt;
  return lease.exit->signal;
}

std::optional<std::int32_t> command_pid(const LeaseView& lease) {
  return pid_of(lease.command);
}
std::optional<std::int32_t> supervisor_pid(const LeaseView& lease) {
  return pid_of(lease.supervisor);
}
std::vector<std::int32_t> member_pids(const LeaseView& lease) {
  std::vector<std::int32_t> pids;
  pids.reserve(lease.members.size());
  for (const Process& member : lease.members) pids.push_back(member.pid);
  return pids;
}
void set_member_pids(LeaseView& lease, const std::vector<std::int32_t>& pids) {
  lease.members.reserve(pids.size());
  for (const std::int32_t pid : pids) lease.members.push_back({.pid = pid, .start_ticks = 0});
}

std::optional<LeaseCheckpoint> checkpoint_of(const LeaseView& lease) {
  if (!lease.request.checkpoint) return std::nullopt;
  return LeaseCheckpoint{*lease.request.checkpoint, lease.checkpoints};
}
void set_checkpoint(LeaseView& lease, LeaseCheckpoint checkpoint) {
  lease.request.checkpoint = checkpoint.way;
  lease.checkpoints = std::move(checkpoint.saves);
}

std::vector<std::string_view> words(const LeaseFlags& flags) {
  std::vector<std::string_view> set;
  for_each_field<LeaseFlags, side::kAnswer>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    if (kField.place.get(flags)) set.push_back(kField.wire.text());
  });
  return set;
}

std::optional<Duration> check_again_after(const LeaseView& lease) {
  if (!lease.queue_position) return std::nullopt;
  const std::int64_t ns = kCheckAgainLeast.ns * *lease.queue_position;
  return std::min(Duration{ns}, kCheckAgainMost);
}

Duration check_again_after(std::optional<UnixMs> expected_start, UnixMs now) {
  if (!expected_start) return kCheckAgainUnknown;
  const Duration half = milliseconds((expected_start->value - now.value) / 2);
  return std::clamp(half, kCheckAgainLeast, kCheckAgainMost);
}

}  // namespace berth
