// SPDX-License-Identifier: Apache-2.0
// The folder of a user's jobs. See Note [Files of a job]. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "jobs/job.h"
#include "os/paths.h"
#include "os/unique_fd.h"

namespace berth::jobs {

class JobFolder {
 public:
  /// Of this user and machine, simulated or real. Nothing is made.
  static Result<JobFolder> find(const os::Environment& env);
  explicit JobFolder(std::string path) : path_(std::move(path)) {}
  /// Makes it, private.
  Status make() const;

  const std::string& path() const { return path_; }
  std::string path_of(LeaseId id) const { return path_ + "/" + to_text(id); }
  std::string lock() const { return path_ + "/keeper.lock"; }

  /// On disk when this returns, and found by its keeper from then on.
  Status add(const Job& job, const std::vector<std::string>& arguments,
             const std::vector<std::string>& environment) const;
  /// In order of their numbers.
  std::vector<LeaseId> list() const;
  bool has(LeaseId id) const;
  Result<Job> read(LeaseId id) const;
  Result<std::vector<std::string>> arguments(LeaseId id) const;
  Result<std::vector<std::string>> environment(LeaseId id) const;

  /// Absent: it is not over.
  std::optional<JobResult> result(LeaseId id) const;
  /// It is over: nothing of it is started any more.
  Status finish(LeaseId id, const JobResult& result) const;

  /// When finish() was called; absent: it is not over.
  std::optional<UnixMs> finished_at(LeaseId id) const;
  /// Nothing is left of it. Only of one that is over.
  Status remove(LeaseId id) const;

  /// How many attempts were begun: they are numbered from 1.
  std::uint32_t attempts(LeaseId id) const;
  std::string status_path(LeaseId id, std::uint32_t attempt) const;
  std::string log_path(LeaseId id, std::uint32_t attempt) const;
  Attempt attempt(LeaseId id, std::uint32_t number) const;

  /// The keeper's end of what wakes it.
  Result<os::UniqueFd> listen() const;
  /// Tells the keeper to look. False: there is none.
  bool wake() const;
  /// A keeper is there, or nobody has submitted anything.
  bool is_kept() const;

 private:
  std::string path_;
};

}  // namespace berth::jobs
