// SPDX-License-Identifier: Apache-2.0
// A log that a user named for a job: what its name says, and whether it can be written.
// See Note [Where a job's output goes]. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::jobs {

enum class Naming : std::uint8_t { kOneJob, kSet };
/// The name makes sense, and says which member's log it is where that is needed. Pure.
Status check_log_name(std::string_view wanted, Naming naming);
/// "%j", "%a" and "%%" filled in; absolute, from `directory`. `job` is a name: "17", "17.3". Pure.
std::string named_log(std::string_view wanted, const std::string& directory, std::string_view job,
                      std::uint32_t attempt);
/// As far as it can be told before the job has a number. Makes nothing, but blocks on the disk.
Status check_log_place(std::string_view wanted, const std::string& directory);

/// What output can be appended to, by its stat(2): a regular file, or /dev/null.
struct FileKind {
  std::uint32_t mode = 0;
  std::uint64_t device = 0;
};
bool takes_log(FileKind kind);

}  // namespace berth::jobs
