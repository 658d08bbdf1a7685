// SPDX-License-Identifier: Apache-2.0
// Why a request was not met. Every refusal has a code for programs and a sentence for people; the
// code decides the exit status of the command line and the status of the HTTP answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

enum class RefusalCode : std::uint8_t {
  kInvalid,                // The request makes no sense as it stands.
  kNeverFits,              // Larger than any device it could use.
  kNoDevice,               // No GPU or driver here, or none of that name.
  kBusy,                   // Not now, and it would not wait (or waited its time out).
  kQueueFull,              // A bound of the queue or of the user was reached.
  kNotFound,               // No lease of that id, name or handle.
  kNotYours,               // Another user's lease.
  kWrongState,             // The lease is not in a state where this can be done.
  kWouldWaitOnItself,      // It could not start before a lease that it runs inside of ends.
  kWouldWaitForEachOther,  // Growth that only another waiting growth could make room for.
  kInsideLease,            // More than the lease around it has.
  kDiskFull,               // The journal cannot be written: no new grants.
  kSafeMode,               // The journal was moved aside: nothing is granted.
  kNotSupported,           // Known, and not in this version.
  kAmbiguous,              // A prefix that fits several leases.
  kNotMoved,               // Its memory could not be moved to the host, or back.
  kNotRequeued,            // It was to wait in the queue again, and does not.
  kRunning,                // Its programs run, and would go on without it.
};

struct Refusal {
  RefusalCode code;
  std::string message;  // Names the thing and the cure.
};

/// "never_fits" and so on: the word in JSON.
std::string_view to_text(RefusalCode code);
std::optional<RefusalCode> parse_refusal_code(std::string_view word);

}  // namespace berth
