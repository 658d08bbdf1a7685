// SPDX-License-Identifier: Apache-2.0
// Contents of a job's files: what it is, how it ended, and how far an attempt to run it has come.
// See Note [Files of a job]. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "model/lease.h"

namespace berth::jobs {

inline constexpr std::uint32_t kJobVersion = 1;

struct Job {
  std::uint32_t version = kJobVersion;
  LeaseId id;  // Of a member of a set, its number in that.
  Handle handle;
  std::string directory;  // Where its command is started.
  std::uint32_t umask = 022;
  UnixMs submitted;
  std::uint32_t members = 0;               // Of a set; 0: it is none.
  std::uint32_t running_max = 0;           // Of these at once; 0: as many as there is room for.
  std::optional<LeaseId> resumes = {};     // The set whose rest it is.
  std::optional<std::uint32_t> seed = {};  // From which each of its members gets one.
  std::string log = {};                    // As its user named it; empty: it is in the folder.
  friend bool operator==(const Job&, const Job&) = default;
};
constexpr auto fields_of(Is<Job> auto*) {
  return fields({}, field("version", &Job::version).required(side::kAnswer),
                field("id", &Job::id).required(side::kAnswer),
                field("handle", &Job::handle).required(side::kAnswer),
                field("directory", &Job::directory).required(side::kAnswer),
                field("umask", &Job::umask), field("submitted", &Job::submitted),
                field("members", &Job::members), field("running_max", &Job::running_max),
                field("resumes", &Job::resumes), field("seed", &Job::seed),
                field("log", &Job::log));
}
std::string encode_job(const Job& job);
/// kVersion: of a newer program, and left alone; kCorrupt: it makes no sense.
Result<Job> decode_job(std::string_view text);

struct JobResult {
  EndResult result = EndResult::kLost;
  std::optional<std::int32_t> code;
  std::optional<std::int32_t> signal;
  std::string trouble;  // Why it was never run; empty: it was.
  friend bool operator==(const JobResult&, const JobResult&) = default;
};
constexpr auto fields_of(Is<JobResult> auto*) {
  return fields({}, field("result", &JobResult::result).required(side::kAnswer),
                field("code", &JobResult::code), field("signal", &JobResult::signal),
                field("trouble", &JobResult::trouble));
}
std::string encode_result(const JobResult& result);
Result<JobResult> decode_result(std::string_view text);

/// What the lines of an attempt's file say so far: one of its starter, then those of --status-fd.
struct Attempt {
  std::optional<std::int32_t> starter;  // Its pid.
  std::optional<Bytes> log_at;          // How long the log that its user named was before it.
  bool ran = false;                     // The command was started.
  bool over = false;                    // The starter has said how it ended:
  std::optional<std::int32_t> code;     // by its status,
  std::optional<std::int32_t> signal;   // or killed by this.
  friend bool operator==(const Attempt&, const Attempt&) = default;
};
/// Lines that make no sense are passed over, as is a last one that was cut off.
Attempt read_attempt(std::string_view lines);

/// Text of strings that each end with a NUL, as they stand in the files of arguments and variables.
std::string join_strings(const std::vector<std::string>& strings);
std::vector<std::string> split_strings(std::string_view text);

}  // namespace berth::jobs
