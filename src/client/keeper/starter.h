// SPDX-License-Identifier: Apache-2.0
// Attempts to run a job: each is a `berth run` of its own that takes up what the job was granted,
// and lives on without the keeper. See Note [Who starts a job]. Not shared between threads.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "jobs/job_folder.h"
#include "os/unique_fd.h"

namespace berth::keeper {

struct Starter {
  std::uint32_t attempt = 0;
  os::UniqueFd pidfd;  // Readable when it has ended; absent: its lock is to be tried.
  bool is_child = false;
};

/// Begins attempt number `attempt` in a session of its own, with the job's directory, environment
/// and log. What keeps it from starting is in that log.
Result<Starter> start_attempt(const jobs::JobFolder& folder, const jobs::Job& job,
                              std::uint32_t attempt, std::uint32_t restarts,
                              const std::string& program);

/// One that an earlier keeper began: its starter lives. Absent: it does not.
std::optional<Starter> find_starter(const jobs::JobFolder& folder, LeaseId id,
                                    std::uint32_t attempt);

}  // namespace berth::keeper
