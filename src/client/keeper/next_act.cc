// SPDX-License-Identifier: Apache-2.0
#include "keeper/next_act.h"

#include <string>

namespace berth::keeper {
namespace {

using jobs::JobResult;

EndResult result_of(const jobs::Attempt& attempt) {
  if (attempt.signal) return EndResult::kKilled;
  return attempt.code == 0 ? EndResult::kOk : EndResult::kFailed;
}

// The daemon was told by the same process, unless it was not there to hear it.
JobResult result_of(const Sight& sight) {
  const std::optional<jobs::Attempt>& ended = sight.ended;
  const bool is_known = sight.lease && sight.lease->result != EndResult::kLost;
  if (!is_known && ended && ended->ran && ended->over) {
    return {.result = result_of(*ended), .code = ended->code, .signal = ended->signal};
  }
  if (!sight.lease) return {};
  JobResult result{.result = sight.lease->result.value_or(EndResult::kLost)};
  if (const std::optional<ExitStatus>& exit = sight.lease->exit) {
    (exit->signal != 0 ? result.signal : result.code) =
        exit->signal != 0 ? exit->signal : exit->code;
  }
  return result;
}

// Its starter said why on the job's log, and would say so again.
bool gave_up(const Sight& sight) {
  return sight.ended && sight.ended->over && !sight.ended->ran;
}

}  // namespace

Next next_act(const Sight& sight) {
  if (sight.starter_lives) return {};
  if (sight.is_forgotten) return {Act::kFinish, result_of(sight)};
  if (!sight.lease) return {Act::kAsk};
  const LeaseView& lease = *sight.lease;
  const bool is_offered = lease.state == LeaseState::kHeld && lease.flags.unclaimed;
  if (lease.state == LeaseState::kEnded) return {Act::kFinish, result_of(sight)};
  if (lease.state != LeaseState::kWaiting && !is_offered) return {Act::kLook};
  if (gave_up(sight)) {
    return {Act::kGiveUp, {.result = EndResult::kFailed, .code = sight.ended->code}};
  }
  if (sight.false_starts >= kFalseStartsMax) {
    return {Act::kGiveUp,
            {.result = EndResult::kFailed,
             .trouble = "it could not be started " + std::to_string(kFalseStartsMax) + " times"}};
  }
  if (is_offered) return {Act::kStart};
  return {sight.listens ? Act::kNothing : Act::kListen};
}

}  // namespace berth::keeper
