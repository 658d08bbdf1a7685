// SPDX-License-Identifier: Apache-2.0
// The end of what a job has printed. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "jobs/job_folder.h"

namespace berth::agents {

/// Of its last attempt, at most `count` lines, each harmless, and cut at 400 bytes. None where it
/// is no job of this user, or has not been started.
std::vector<std::string> last_lines_of_job(const jobs::JobFolder& jobs, LeaseId job,
                                           std::uint32_t count);

/// The last lines of text whose beginning may be missing.
std::vector<std::string> last_lines(std::string_view text, std::uint32_t count);

}  // namespace berth::agents
