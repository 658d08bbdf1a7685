// SPDX-License-Identifier: Apache-2.0
// Sees to it that the keeper of this user's jobs runs. Any thread.
#pragma once

#include "base/result.h"
#include "jobs/job_folder.h"
#include "os/paths.h"

namespace berth::cli {

/// Has the keeper look for jobs; starts it where none runs. Not waited for.
Status wake_keeper(const jobs::JobFolder& folder);

/// The same where a job is left that is not over, as after a restart of the machine. A folder
/// without jobs costs one look.
void wake_keeper_for_jobs(const os::Environment& env);

}  // namespace berth::cli
