// SPDX-License-Identifier: Apache-2.0
// The options of `berth run` and `berth submit`, which are the same: a keeper starts a job with
// `berth run` and the words that were given to `submit`. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/session.h"
#include "cli/run/submission.h"
#include "cli/verb.h"

namespace berth::cli {

struct RunOptions {
  SessionOptions session;
  std::optional<std::uint32_t> status_descriptor;
  bool quiet = false;
  bool detach = false;  // As a job. The rest is of jobs alone:
  EnvironmentMode environment = EnvironmentMode::kSame;
  std::optional<std::string> directory = {};
  std::optional<std::string> log = {};
  std::optional<std::string> each = {};  // A file, or "-".
  std::vector<std::string> grid = {};
  std::optional<std::uint32_t> running_max = {};
  std::optional<std::uint32_t> resume = {};  // The number of an earlier set.
  std::optional<std::uint32_t> seed = {};
  std::optional<LeaseId> failed_of = {};  // What failed in this set is submitted again, as one.
};
void declare_run(Invocation& invocation, RunOptions& run);

/// Does what `run` says, once it was parsed.
int run_with(Invocation& invocation, RunOptions run);

}  // namespace berth::cli
