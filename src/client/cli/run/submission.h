// SPDX-License-Identifier: Apache-2.0
// Makes a job of a request that is in the queue: writes down what is to be started, has the daemon
// keep the request, and sees to it that a keeper runs. Not shared between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"
#include "client/client.h"
#include "model/bodies.h"
#include "model/lease.h"
#include "os/paths.h"

namespace berth::cli {

/// Which variables a job is started with. kClean: HOME, USER, LOGNAME, SHELL, PATH, LANG, LC_*, TZ,
/// and those by which Berth is found.
enum class EnvironmentMode : std::uint8_t { kSame, kClean };
constexpr auto words_of(EnvironmentMode) {
  using enum EnvironmentMode;
  return make_words<EnvironmentMode>({{kSame, "same"}, {kClean, "clean"}});
}

struct Submission {
  std::vector<std::string> arguments;  // After the verb, as they were typed.
  EnvironmentMode environment = EnvironmentMode::kSame;
  std::string directory;
  std::string log = {};  // As it was named; empty: in the job's folder.
  // Of a set: a line of each member, and how many of them may run at once (0: as many as fit).
  std::vector<std::string> lines = {};
  std::uint32_t running_max = 0;
  std::optional<LeaseId> resumes = {};
  std::optional<std::uint32_t> seed = {};
  RequestBody request = {};  // Of a member.
};

/// Of `all`, "NAME=value" each, what a job is started with. Of the lease that they are from inside
/// of, nothing.
std::vector<std::string> environment_for_job(const std::vector<std::string>& all,
                                             EnvironmentMode mode);

/// The job is its keeper's and its request the daemon's when this returns; its requester may end.
/// Where it fails the request is withdrawn with its connection.
Status submit(client::Client& client, const os::Environment& env, const LeaseView& queued,
              const Submission& submission);
/// Waits until a power cut takes neither.
Status sync_submission(const client::Client& client, const os::Environment& env, LeaseId id);

}  // namespace berth::cli
