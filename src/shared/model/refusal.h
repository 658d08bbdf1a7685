// SPDX-License-Identifier: Apache-2.0
// Why a request was not met. Every refusal has a code for programs and a sentence for people; the
// code decides the exit status of the command line and the status of the HTTP answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/words.h"

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
  kExists,                 // It was asked for before, with the same key.
};
constexpr auto words_of(RefusalCode) {
  using enum RefusalCode;
  return make_words<RefusalCode>({{kInvalid, "invalid"},
                                  {kNeverFits, "never_fits"},
                                  {kNoDevice, "no_device"},
                                  {kBusy, "busy"},
                                  {kQueueFull, "queue_full"},
                                  {kNotFound, "not_found"},
                                  {kNotYours, "not_yours"},
                                  {kWrongState, "wrong_state"},
                                  {kWouldWaitOnItself, "would_wait_on_itself"},
                                  {kWouldWaitForEachOther, "would_wait_for_each_other"},
                                  {kInsideLease, "inside_lease"},
                                  {kDiskFull, "disk_full"},
                                  {kSafeMode, "safe_mode"},
                                  {kNotSupported, "not_supported"},
                                  {kAmbiguous, "ambiguous"},
                                  {kNotMoved, "not_moved"},
                                  {kNotRequeued, "not_requeued"},
                                  {kRunning, "running"},
                                  {kExists, "exists"}});
}

struct Refusal {
  RefusalCode code;
  std::string message;                // Names the thing and the cure.
  std::optional<LeaseId> lease = {};  // With kExists: which.
};

/// "never_fits" and so on: the word in JSON.

}  // namespace berth
