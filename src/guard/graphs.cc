// SPDX-License-Identifier: Apache-2.0
#include "guard/graphs.h"

namespace berth::guard {

void Graphs::Needs::add(std::uint32_t ordinal, std::uint64_t bytes) {
  std::size_t i = 0;
  while (i < count && of[i].ordinal != ordinal) ++i;
  if (i == kDevicesOfOne) return;
  if (i == count) of[count++] = {.ordinal = ordinal, .bytes = 0, .key = 0, .epoch = 0};
  of[i].bytes = bytes > UINT64_MAX - of[i].bytes ? UINT64_MAX : of[i].bytes + bytes;
}

bool Graphs::Needs::has(std::uint32_t ordinal) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (of[i].ordinal == ordinal) return true;
  }
  return false;
}

void Graphs::made(Handle exec, const Needs& needs) {
  if (any()) gone(exec);
  for (std::size_t i = 0; i < needs.count; ++i) {
    any_.store(1, std::memory_order_relaxed);
    (void)needs_.insert({.key = exec + i,
                         .bytes = needs.of[i].bytes,
                         .owner = 0,
                         .count = 1,
                         .device = static_cast<std::uint16_t>(needs.of[i].ordinal),
                         .kind = 0});
  }
}

void Graphs::gone(Handle exec) {
  for (std::size_t i = 0; i < kDevicesOfOne && needs_.take(exec + i).key != 0; ++i) {
  }
}

Graphs::Needs Graphs::missing(Handle exec) {
  Needs needs{};
  for_each_device(exec, [&](const Entry& entry) {
    // In this order: a trim that has ended by then has begun an epoch.
    const bool trimming = trims_[entry.device].load() != 0;
    const std::uint64_t epoch = epochs_[entry.device].load() + 1;
    if (entry.owner == epoch && !trimming) return;
    needs.of[needs.count++] = {
        .ordinal = entry.device, .bytes = entry.bytes, .key = entry.key, .epoch = epoch};
  });
  return needs;
}

void Graphs::reserved(const Needs& needs) {
  for (std::size_t i = 0; i < needs.count; ++i) {
    (void)needs_.update(needs.of[i].key, [&](Entry& known) { known.owner = needs.of[i].epoch; });
  }
}

bool Graphs::begin_launch(Handle exec, const Needs& charged, Launch& launch) {
  launch.count = 0;
  for_each_device(exec, [&](const Entry& entry) {
    launches_[entry.device].fetch_add(1);
    launch.ordinals[launch.count++] = entry.device;
  });
  const Needs now = missing(exec);
  for (std::size_t i = 0; i < now.count; ++i) {
    if (charged.has(now.of[i].ordinal)) continue;
    end_launch(launch);
    return false;
  }
  return true;
}

void Graphs::end_launch(const Launch& launch) {
  for (std::size_t i = 0; i < launch.count; ++i) launches_[launch.ordinals[i]].fetch_sub(1);
}

bool Graphs::begin_trim(std::uint32_t ordinal) {
  constexpr int kLooksMax = 1000;
  trims_[ordinal].fetch_add(1);
  for (int looks = 0; looks < kLooksMax; ++looks) {
    if (launches_[ordinal].load() == 0) return true;
    yield();
  }
  return false;
}

void Graphs::end_trim(std::uint32_t ordinal) {
  epochs_[ordinal].fetch_add(1);
  trims_[ordinal].fetch_sub(1);
}

}  // namespace berth::guard
