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
  explicit JobFolder(std::string path, std::string prefix = {})
      : path_(std::move(path)), prefix_(std::move(prefix)) {}
  /// Makes it, private.
  Status make() const;

  const std::string& path() const { return path_; }
  std::string path_of(LeaseId id) const { return path_ + "/" + to_text(id); }
  std::string lock() const { return path_ + "/keeper.lock"; }

  /// The members of a set, by their numbers in it.
  JobFolder members_of(LeaseId set) const { return JobFolder(path_of(set), to_text(set) + "."); }
  /// As people name it: "17", "17.3".
  std::string name_of(LeaseId id) const { return prefix_ + to_text(id); }

  /// What a job is started with.
  struct Content {
    std::vector<std::string> arguments;
    std::vector<std::string> environment;
    // Of a set: a line of each member, and the request of one, as it is sent.
    std::vector<std::string> lines = {};
    std::string request = {};
  };
  /// Found by its keeper from then on.
  Status add(const Job& job, const Content& content) const;
  /// It survives a power cut when this returns. Blocks on the disk.
  Status sync(LeaseId id) const;
  /// In order of their numbers.
  std::vector<LeaseId> list() const;
  bool has(LeaseId id) const;
  Result<Job> read(LeaseId id) const;
  Result<std::vector<std::string>> arguments(LeaseId id) const;
  Result<std::vector<std::string>> environment(LeaseId id) const;
  Result<std::vector<std::string>> lines(LeaseId id) const;
  Result<std::string> request(LeaseId id) const;

  /// Absent: it is not over.
  std::optional<JobResult> result(LeaseId id) const;
  /// It is over: nothing of it is started any more.
  Status finish(LeaseId id, const JobResult& result) const;

  /// When finish() was called; absent: it is not over.
  std::optional<UnixMs> finished_at(LeaseId id) const;
  /// Nothing is left of it. Only of one that is over.
  Status remove(LeaseId id) const;

  /// Nothing finds it any more; its files stay under another name, without the environment.
  Status set_aside(LeaseId id) const;

  /// How many attempts were begun: they are numbered from 1.
  std::uint32_t attempts(LeaseId id) const;
  std::string status_path(LeaseId id, std::uint32_t attempt) const;
  std::string log_path(LeaseId id, std::uint32_t attempt) const;
  /// The log that its user named, filled in; empty: there is none.
  std::string named_log_path(const Job& job, std::uint32_t attempt) const;
  Attempt attempt(LeaseId id, std::uint32_t number) const;

  /// The next attempt is started with these.
  Status replace_arguments(LeaseId id, const std::vector<std::string>& arguments) const;
  /// The starter of this attempt has: nobody has its status file locked any more.
  bool has_ended(LeaseId id, std::uint32_t attempt) const;

  /// The keeper's end of what wakes it.
  Result<os::UniqueFd> listen() const;
  /// Tells the keeper to look. False: there is none.
  bool wake() const;
  /// A keeper is there, or nobody has submitted anything.
  bool is_kept() const;

 private:
  std::string path_;
  std::string prefix_;  // Of names.
};

}  // namespace berth::jobs
