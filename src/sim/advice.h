// SPDX-License-Identifier: Apache-2.0
// Check that what is proposed to a waiting request helps: each proposal is carried out on a copy of
// the coordinator, by the events that a world would send for it, and the request must be granted
// there.
#pragma once

#include <cstdint>
#include <string>

#include "core/coordinator.h"
#include "core/event.h"
#include "sim/observations.h"

namespace berth::sim {

/// Of which coordinator, and when.
struct Question {
  const core::Coordinator& coordinator;
  core::Now now;
  std::uint64_t number = 0;  // Chooses whose proposals are looked at.
};

/// Empty, or which proposal helps nobody. Changes nothing.
std::string check_advice(const Observations& observations, const Question& question);
/// The same of a daemon that starts now: its coordinator has read the records and nothing more.
/// All who live come back to it.
std::string check_restart(const Observations& observations, const Question& question);
/// Empty, or what the coordinator decides as soon as it is called again, although nothing has
/// happened and nothing was due. To be asked where it has just decided something: what only time
/// makes possible may wait for the next sample.
std::string check_waiting(const Question& question);

}  // namespace berth::sim
