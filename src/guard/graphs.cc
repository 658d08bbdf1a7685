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
  for (std::size_t i = 0; i < kDevicesOfOne; ++i) {
    const Entry entry = needs_.find(exec + i);
    if (entry.key == 0) break;
    const std::uint64_t epoch = epochs_[entry.device].load() + 1;
    if (entry.owner == epoch) continue;
    needs.of[needs.count++] = {
        .ordinal = entry.device, .bytes = entry.bytes, .key = entry.key, .epoch = epoch};
  }
  return needs;
}

void Graphs::reserved(const Needs& needs) {
  for (std::size_t i = 0; i < needs.count; ++i) {
    (void)needs_.update(needs.of[i].key, [&](Entry& known) { known.owner = needs.of[i].epoch; });
  }
}

}  // namespace berth::guard
