// SPDX-License-Identifier: Apache-2.0
// Note [Files of a job]: each has a directory named by its number, 0700, whose files are 0600:
// `job` (what it is), `arguments` and `environment` (strings that each end with a NUL; the
// environment is taken away when no attempt is left), N.status and N.log of its attempts, `latest`,
// a link to the last of these logs, and `result` once it is over. Of a set there are `members` (a
// line of each) and `request` beside these, and in directories of their numbers the members. A job
// appears whole: its directory is made under another name and renamed.
#include "jobs/job_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/number.h"
#include "jobs/named_log.h"
#include "os/errors.h"
#include "os/files.h"

namespace berth::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kJobMax = std::size_t{64} << 10U;
constexpr std::size_t kStringsMax = std::size_t{4}
                                    << 20U;  // As much as a program can be started with.
constexpr std::size_t kLinesMax = std::size_t{64} << 20U;  // Of all members.
constexpr unsigned kPrivate = 0600;

std::string join(const std::string& folder, const std::string& name) {
  return folder + "/" + name;
}

Result<std::vector<std::string>> read_strings(const std::string& path) {
  TRY(text, os::read_private_file(path, kStringsMax));
  return split_strings(text);
}

// None: there is no keeper, or there never was one (ENOENT).
os::UniqueFd open_wake(const std::string& folder) {
  return os::UniqueFd(
      ::open(join(folder, "wake").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

Result<JobFolder> JobFolder::find(const os::Environment& env) {
  TRY(paths, os::paths_of(env, os::Mode::kUser, ""));
  return JobFolder(join(paths.state_dir, "jobs"));
}

Status JobFolder::make() const {
  return os::make_private_directory(path_);
}

Status JobFolder::add(const Job& job, const Content& content) const {
  TRY_STATUS(make());
  const std::string made = join(path_, "new-" + to_text(job.id));
  remove_all(made);  // Of one who was killed; a number is nobody else's.
  TRY_STATUS(os::make_private_directory(made));
  const auto write = [&](const char* name, const std::string& text) {
    return os::write_new_file(join(made, name), text, kPrivate);
  };
  Status written = write("job", encode_job(job));
  if (written.ok()) written = write("arguments", join_strings(content.arguments));
  if (written.ok()) written = write("environment", join_strings(content.environment));
  if (written.ok() && job.members > 0) written = write("members", join_strings(content.lines));
  if (written.ok() && job.members > 0) written = write("request", content.request);
  if (written.ok()) written = os::move_file(made, path_of(job.id));
  if (!written.ok()) remove_all(made);
  return written;
}

Status JobFolder::sync(LeaseId id) const {
  for (const char* name : {"job", "arguments", "environment", "members", "request"}) {
    const Status synced = os::sync_file(join(path_of(id), name));
    // Not each job has each of them, and the environment of one that is over is taken away.
    if (!synced.ok() && synced.error().code != Errc::kNotFound) return synced;
  }
  TRY_STATUS(os::sync_file(path_of(id)));
  return os::sync_file(path_);
}

std::vector<LeaseId> JobFolder::list() const {
  std::vector<LeaseId> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    const std::optional<std::uint64_t> number =
        parse_number<std::uint64_t>(entry.path().filename().native());
    if (number && *number != 0) found.push_back({*number});
  }
  std::ranges::sort(found);
  return found;
}

bool JobFolder::has(LeaseId id) const {
  return os::exists(path_of(id));
}

Result<Job> JobFolder::read(LeaseId id) const {
  TRY(text, os::read_private_file(join(path_of(id), "job"), kJobMax));
  TRY(job, decode_job(text));
  if (job.members > kSetMembersMax || job.id != id)
    return Error{Errc::kCorrupt, path_of(id) + " is of another job"};
  return job;
}

Result<std::vector<std::string>> JobFolder::arguments(LeaseId id) const {
  return read_strings(join(path_of(id), "arguments"));
}

Result<std::vector<std::string>> JobFolder::environment(LeaseId id) const {
  return read_strings(join(path_of(id), "environment"));
}

Result<std::vector<std::string>> JobFolder::lines(LeaseId id) const {
  TRY(text, os::read_private_file(join(path_of(id), "members"), kLinesMax));
  return split_strings(text);
}

Result<std::string> JobFolder::request(LeaseId id) const {
  return os::read_private_file(join(path_of(id), "request"), kJobMax);
}

std::optional<JobResult> JobFolder::result(LeaseId id) const {
  const Result<std::string> text = os::read_private_file(join(path_of(id), "result"), kJobMax);
  if (!text.ok()) return std::nullopt;
  const Result<JobResult> result = decode_result(*text);
  return result.ok() ? std::optional(*result) : std::nullopt;
}

Status JobFolder::finish(LeaseId id, const JobResult& result) const {
  ::unlink(join(path_of(id), "environment").c_str());
  return os::write_file_atomically(join(path_of(id), "result"), encode_result(result), kPrivate,
                                   os::Sync::kPowerCut);
}

std::optional<UnixMs> JobFolder::finished_at(LeaseId id) const {
  struct stat found{};
  if (::lstat(join(path_of(id), "result").c_str(), &found) != 0) return std::nullopt;
  return UnixMs{found.st_mtim.tv_sec * 1'000};
}

// Renamed first, so that half of a job is never found.
Status JobFolder::remove(LeaseId id) const {
  if (!result(id)) return Error{Errc::kConflict, "job " + name_of(id) + " is not over"};
  const std::string gone = join(path_, "old-" + to_text(id));
  remove_all(gone);
  TRY_STATUS(os::move_file(path_of(id), gone));
  remove_all(gone);
  return Unit{};
}

Status JobFolder::set_aside(LeaseId id) const {
  const std::string aside = join(path_, "bad-" + to_text(id));
  remove_all(aside);
  TRY_STATUS(os::move_file(path_of(id), aside));
  ::unlink(join(aside, "environment").c_str());
  return Unit{};
}

std::uint32_t JobFolder::attempts(LeaseId id) const {
  std::uint32_t count = 0;
  while (os::exists(status_path(id, count + 1))) ++count;
  return count;
}

std::string JobFolder::status_path(LeaseId id, std::uint32_t attempt) const {
  return join(path_of(id), std::to_string(attempt) + ".status");
}

std::string JobFolder::log_path(LeaseId id, std::uint32_t attempt) const {
  return join(path_of(id), std::to_string(attempt) + ".log");
}

std::string JobFolder::named_log_path(const Job& job, std::uint32_t attempt) const {
  return job.log.empty() ? "" : named_log(job.log, job.directory, name_of(job.id), attempt);
}

Attempt JobFolder::attempt(LeaseId id, std::uint32_t number) const {
  const Result<std::string> lines = os::read_private_file(status_path(id, number), kStringsMax);
  return lines.ok() ? read_attempt(*lines) : Attempt{};
}

Status JobFolder::replace_arguments(LeaseId id, const std::vector<std::string>& arguments) const {
  return os::write_file_atomically(join(path_of(id), "arguments"), join_strings(arguments),
                                   kPrivate, os::Sync::kPowerCut);
}

bool JobFolder::has_ended(LeaseId id, std::uint32_t attempt) const {
  const os::UniqueFd status(
      ::open(status_path(id, attempt).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  return status && ::flock(status.get(), LOCK_SH | LOCK_NB) == 0;
}

Result<os::UniqueFd> JobFolder::listen() const {
  const std::string path = join(path_, "wake");
  if (::mkfifo(path.c_str(), kPrivate) != 0 && errno != EEXIST) {
    return os::system_error("cannot make " + path, errno);
  }
  // Open for writing as well, so that it has no end.
  os::UniqueFd pipe(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!pipe) return os::system_error("cannot open " + path, errno);
  return pipe;
}

bool JobFolder::is_kept() const {
  return open_wake(path_) || errno == ENOENT;
}

bool JobFolder::wake() const {
  const os::UniqueFd pipe = open_wake(path_);
  if (!pipe) return false;
  // A full pipe wakes it as well.
  return ::write(pipe.get(), "", 1) == 1 || errno == EAGAIN;
}

}  // namespace berth::jobs
