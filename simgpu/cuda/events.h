// SPDX-License-Identifier: Apache-2.0
// The events of a process. All work of streams is done at once, so an event has happened when it
// was recorded. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/units.h"

namespace berth::simgpu {

class Events {
 public:
  using Handle = std::uint64_t;
  struct Event {
    bool timed = true;
    std::optional<Instant> at;  // Of its last record.
  };

  Handle create(bool timed) {
    events_.emplace(last_ += 16, Event{.timed = timed, .at = {}});
    return last_;
  }
  bool destroy(Handle event) { return events_.erase(event) == 1; }
  /// Null: there is none of that handle.
  Event* find(Handle event) {
    const auto found = events_.find(event);
    return found == events_.end() ? nullptr : &found->second;
  }

 private:
  std::map<Handle, Event> events_;
  Handle last_ = 0x4000'0000;
};

}  // namespace berth::simgpu
