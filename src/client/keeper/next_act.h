// SPDX-License-Identifier: Apache-2.0
// Decision of a keeper about a job: the next act, by what it sees. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "jobs/job.h"
#include "model/lease.h"

namespace berth::keeper {

/// So many attempts in a row may come to nothing before the job is given up.
inline constexpr std::uint32_t kFalseStartsMax = 3;

/// A job that is not over.
struct Sight {
  bool starter_lives = false;
  bool listens = false;  // A stream is open, and tells of the lease.
  /// As the daemon told it last; absent: it is to be asked.
  std::optional<LeaseView> lease = {};
  bool is_forgotten = false;                // The daemon knows no such lease.
  std::optional<jobs::Attempt> ended = {};  // The last attempt, whose starter has ended.
  std::uint32_t false_starts = 0;           // Attempts in a row that did not get to the command.
};

enum class Act : std::uint8_t {
  kNothing,  // Something else happens first.
  kAsk,      // How the lease is.
  kLook,     // Likewise, in a while.
  kListen,   // Be there for the grant.
  kStart,    // The lease is offered: begin an attempt.
  kGiveUp,   // Tell the daemon that it has failed, and write the result.
  kFinish,   // Write the result.
};

struct Next {
  Act act = Act::kNothing;
  jobs::JobResult result = {};  // With kGiveUp and kFinish.
};
Next next_act(const Sight& sight);

}  // namespace berth::keeper
