// SPDX-License-Identifier: Apache-2.0
// `berth logs`: what a job has printed, and prints.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "cli/leases.h"
#include "cli/verbs.h"
#include "jobs/job_folder.h"
#include "model/set_member.h"
#include "os/paths.h"
#include "os/unique_fd.h"

namespace berth::cli {
namespace {

constexpr int kLookEveryMs = 100;

struct LogsOptions {
  std::string word;
  bool follow = false;
  std::optional<std::uint32_t> lines;
  std::optional<std::uint32_t> attempt;
};

/// The log of one attempt, read on from where it was read to.
class Log {
 public:
  explicit Log(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}

  bool is_there() const { return static_cast<bool>(file_); }
  void skip_to_last(std::uint32_t lines);
  /// What has come since; false: nothing, or stdout is closed.
  bool copy();

 private:
  os::UniqueFd file_;
  off_t at_ = 0;
};

void Log::skip_to_last(std::uint32_t lines) {
  struct stat found{};
  if (::fstat(file_.get(), &found) != 0) return;
  at_ = found.st_size;
  if (lines == 0) return;
  std::array<char, 4096> block{};
  std::uint32_t seen = 0;
  while (at_ > 0) {
    const off_t begin = std::max<off_t>(at_ - static_cast<off_t>(block.size()), 0);
    const ssize_t count =
        ::pread(file_.get(), block.data(), static_cast<std::size_t>(at_ - begin), begin);
    if (count <= 0) return;
    for (ssize_t i = count - 1; i >= 0; --i) {
      // The last byte ends the last line, and begins none.
      const bool is_last = begin + i + 1 == found.st_size;
      if (block[static_cast<std::size_t>(i)] != '\n' || is_last || ++seen < lines) continue;
      at_ = begin + i + 1;
      return;
    }
    at_ = begin;
  }
}

bool Log::copy() {
  std::array<char, 65536> block{};
  const ssize_t count = ::pread(file_.get(), block.data(), block.size(), at_);
  if (count <= 0) return false;
  for (ssize_t written = 0; written < count;) {
    const ssize_t more =
        ::write(STDOUT_FILENO, block.data() + written, static_cast<std::size_t>(count - written));
    if (more <= 0) return false;
    written += more;
  }
  at_ += count;
  return true;
}

struct Found {
  jobs::JobFolder folder;
  LeaseId id;
};

/// A number, of a job or of a member ("17.3"), needs no daemon: the logs are ours.
std::optional<Found> by_number(const std::string& word, const jobs::JobFolder& folder) {
  if (const std::optional<SetMember> member = parse_set_member(word)) {
    const jobs::JobFolder members = folder.members_of(member->set);
    if (!members.has({member->number})) return std::nullopt;
    return Found{members, {member->number}};
  }
  const auto number = parse_number<std::uint64_t>(word);
  return number && folder.has({*number}) ? std::optional(Found{folder, {*number}}) : std::nullopt;
}

std::optional<Found> find_job(const LogsOptions& logs, const jobs::JobFolder& folder,
                              DaemonSession& session) {
  if (auto found = by_number(logs.word, folder)) return found;
  if (!session.open()) return std::nullopt;
  const auto leases = select_leases(session, {logs.word});
  if (!leases) return std::nullopt;
  if (leases->size() != 1) {
    session.fail(ExitCode::kUsage, cli::quoted(logs.word) + " means " +
                                       std::to_string(leases->size()) + " leases, and not one");
    return std::nullopt;
  }
  const LeaseView& lease = leases->front();
  const std::optional<SetMember>& member = lease.request.member;
  const std::string name =
      member ? to_text(member->set) + "." + std::to_string(member->number) : to_text(lease.id);
  if (auto found = by_number(name, folder)) return found;
  session.fail(ExitCode::kNoInput, "lease " + to_text(lease.id) +
                                       " is no job of yours, so nothing that it printed was kept "
                                       "(berth submit makes jobs)");
  return std::nullopt;
}

int show(const jobs::JobFolder& folder, LeaseId id, const LogsOptions& logs,
         Invocation& invocation) {
  const std::uint32_t begun = folder.attempts(id);
  if (logs.attempt && (*logs.attempt == 0 || *logs.attempt > begun)) {
    return invocation.fail(ExitCode::kNoInput, "job " + folder.name_of(id) + " has " +
                                                   std::to_string(begun) + " attempts");
  }
  std::uint32_t attempt = logs.attempt.value_or(std::max(begun, 1U));
  bool told = false;
  std::optional<Log> log;
  while (true) {
    // Looked at before the log: what is over writes no more.
    const std::optional<jobs::JobResult> result = folder.result(id);
    const std::uint32_t last = folder.attempts(id);
    if (!log && attempt <= last) {
      log.emplace(folder.log_path(id, attempt));
      if (log->is_there() && logs.lines) log->skip_to_last(*logs.lines);
    }
    while (log && log->copy()) {
    }
    if (!logs.attempt && attempt < last) {
      ++attempt;
      log.reset();
      continue;
    }
    if (result || !logs.follow) {
      if (begun == 0 && last == 0) {
        complain("berth: job " + folder.name_of(id) +
                 (result ? " was never started\n" : " has not been started yet\n"));
      }
      if (result && !result->trouble.empty()) {
        complain("berth: job " + folder.name_of(id) + ": " + result->trouble + "\n");
      }
      return to_status(ExitCode::kOk);
    }
    if (last == 0 && !std::exchange(told, true)) {
      complain("berth: job " + folder.name_of(id) + " has not been started yet; waiting for it\n");
    }
    ::poll(nullptr, 0, kLookEveryMs);
  }
}

}  // namespace

int run_logs(Invocation& invocation) {
  LogsOptions logs;
  invocation.about =
      "Shows what the last attempt to run a job has printed, stdout and stderr, and what berth run "
      "said of it. With -f goes on until the job is over; before it was started, waits for that.";
  invocation.examples = {{"berth logs -f @last", "of the job submitted last, as it comes"}};
  Options& options = invocation.options;
  options.add("-f,--follow", store(logs.follow), "go on until the job is over");
  options.add("-n,--lines=N", store(logs.lines), "only the last so many, and what follows");
  options.add("--attempt=N", store(logs.attempt), "of this attempt; the last is the default");
  options.operand("LEASE", store(logs.word), "a job: by number, name, or @last");
  if (const auto end = invocation.parse()) return *end;
  const Result<jobs::JobFolder> folder = jobs::JobFolder::find(os::read_environment());
  if (!folder.ok()) return invocation.fail(folder.error());
  DaemonSession session(invocation);
  const std::optional<Found> found = find_job(logs, *folder, session);
  if (!found) return session.status();
  const Result<jobs::Job> job = found->folder.read(found->id);
  if (job.ok() && job->members > 0) {
    const std::string name = found->folder.name_of(found->id);
    return invocation.usage_error("job " + name + " is a set of " + std::to_string(job->members) +
                                  ": name one of them, " + name + ".1 to " + name + "." +
                                  std::to_string(job->members));
  }
  return show(found->folder, found->id, logs, invocation);
}

}  // namespace berth::cli
