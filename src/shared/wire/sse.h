// SPDX-License-Identifier: Apache-2.0
// Server-sent events (the text/event-stream of the HTML standard): what the daemon writes, and a
// reader that takes the bytes as they come. A reader is not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"

namespace berth::wire {

struct SseEvent {
  std::string event;  // "message" where the stream names none.
  std::string id;     // The last id given; empty if none.
  std::string data;
  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

/// One event. An empty name or id is left out.
std::string encode_event(const SseEvent& event);
/// A comment: ignored by readers, it shows that the daemon is there.
inline constexpr std::string_view kSseComment = ": \n\n";

class SseReader {
 public:
  /// The events that these bytes complete, however the stream was split. kFull: an event longer
  /// than limits::kEventMax; nothing more can be read then.
  Result<std::vector<SseEvent>> feed(std::string_view bytes);

 private:
  void end_line(std::vector<SseEvent>& events);

  std::string line_;
  SseEvent event_;
  std::size_t size_ = 0;  // Of the event so far.
  bool has_data_ = false;
  bool after_return_ = false;  // A line feed now belongs to the end of line before it.
  bool at_start_ = true;
};

/// The names of our events. `lease` opens every stream about one lease; its data is the lease, as
/// is that of all others but `waiting` (a Why), `fit` (a Fit), `alert` (an Alert), `audit` (an
/// AuditEntry) and those of unmanaged processes and `device_pressure` (a Device).
enum class EventName : std::uint8_t {
  kLease,
  kWaiting,
  kGranted,
  kEnded,
  kParked,
  kUnparked,
  kResized,
  kOverBudget,
  kInBudget,
  kFull,
  kNotFull,
  kDegraded,
  kRevoked,
  kAstray,
  kUnmanagedSeen,
  kUnmanagedGone,
  kCheckpoint,
  kCheckpointed,
  kPressure,
  kDevicePressure,
  kSuspended,
  kResumed,
  kRequeue,
  kRequeuing,
  kRequeued,
  kRequeueDropped,
  kQueued,
  kAlert,
  kFrozen,
  kMeasure,
  kFit,
  kDetached,
  kAudit,
  kMessageSent,
  kMessageAnswered,
};
constexpr auto words_of(EventName) {
  using enum EventName;
  return make_words<EventName>({{kLease, "lease"},
                                {kWaiting, "waiting"},
                                {kGranted, "granted"},
                                {kEnded, "ended"},
                                {kParked, "parked"},
                                {kUnparked, "unparked"},
                                {kResized, "resized"},
                                {kOverBudget, "over_budget"},
                                {kInBudget, "in_budget"},
                                {kFull, "full"},
                                {kNotFull, "not_full"},
                                {kDegraded, "degraded"},
                                {kRevoked, "revoked"},
                                {kAstray, "astray"},
                                {kUnmanagedSeen, "unmanaged_seen", "stranger_seen"},
                                {kUnmanagedGone, "unmanaged_gone", "stranger_gone"},
                                {kCheckpoint, "checkpoint"},
                                {kCheckpointed, "checkpointed"},
                                {kPressure, "pressure"},
                                {kDevicePressure, "device_pressure"},
                                {kSuspended, "suspended"},
                                {kResumed, "resumed"},
                                {kRequeue, "requeue"},
                                {kRequeuing, "requeuing"},
                                {kRequeued, "requeued"},
                                {kRequeueDropped, "requeue_dropped"},
                                {kQueued, "queued"},
                                {kAlert, "alert"},
                                {kFrozen, "frozen"},
                                {kMeasure, "measure"},
                                {kFit, "fit"},
                                {kDetached, "detached"},
                                {kAudit, "audit"},
                                {kMessageSent, "message_sent"},
                                {kMessageAnswered, "message_answered"}});
}

}  // namespace berth::wire
