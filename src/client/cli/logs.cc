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
#include "base/quantity.h"
#include "cli/leases.h"
#include "cli/verbs.h"
#include "jobs/job_folder.h"
#include "jobs/log_bound.h"
#include "model/set_member.h"
#include "os/paths.h"
#include "os/unique_fd.h"
#include "wire/own_programs.h"

namespace berth::cli {
namespace {

constexpr int kLookEveryMs = 100;

struct LogsOptions {
  std::string word;
  bool follow = false;
  std::optional<std::uint32_t> lines;
  std::optional<std::uint32_t> attempt;
  bool json = false;
};

/// Where the output of an attempt is.
struct Place {
  std::string path;
  off_t begin = 0;
  bool is_named = false;  // By its user, who may have made a link of it.
};

/// The log of one attempt, read on from where it was read to.
class Log {
 public:
  explicit Log(const Place& place);

  const std::string& path() const { return path_; }
  off_t size() const;
  void skip_to_last(std::uint32_t lines, off_t end);
  void skip_to_last(Bytes most, off_t end) {
    at_ = std::max(at_, end - static_cast<off_t>(most.value));
  }
  bool has_more_before() const { return at_ > begin_; }
  std::string read(off_t end) const;
  /// What has come since, as far as `end`; not where stdout is closed.
  void copy(off_t end);
  /// How much of it was cut away where it was read, since this was asked last.
  Bytes take_cut() { return std::exchange(cut_, {}); }

 private:
  off_t first_left(off_t from) const {
    return is_named_ ? from : jobs::first_left(file_.get(), from);
  }
  void skip_cut();

  std::string path_;
  os::UniqueFd file_;
  off_t begin_ = 0;
  off_t at_ = 0;
  bool is_named_ = false;  // And never cut.
  Bytes cut_;
};

Log::Log(const Place& place)
    : path_(place.path),
      file_(::open(place.path.c_str(),
                   O_RDONLY | O_CLOEXEC | O_NONBLOCK | (place.is_named ? 0 : O_NOFOLLOW))),
      is_named_(place.is_named) {
  // Of one that was emptied since then, all that is there.
  begin_ = place.begin <= size() ? place.begin : 0;
  at_ = begin_;
}

off_t Log::size() const {
  struct stat found{};
  return file_ && ::fstat(file_.get(), &found) == 0 && S_ISREG(found.st_mode) ? found.st_size : 0;
}

void Log::skip_to_last(std::uint32_t lines, off_t end) {
  at_ = std::max(end, begin_);
  if (lines == 0) return;
  std::array<char, 4096> block{};
  std::uint32_t seen = 0;
  const off_t least = first_left(begin_);
  while (at_ > least) {
    const off_t begin = std::max<off_t>(at_ - static_cast<off_t>(block.size()), least);
    const ssize_t count =
        ::pread(file_.get(), block.data(), static_cast<std::size_t>(at_ - begin), begin);
    if (count <= 0) return;
    for (ssize_t i = count - 1; i >= 0; --i) {
      // The last byte ends the last line, and begins none.
      const bool is_last = begin + i + 1 == end;
      if (block[static_cast<std::size_t>(i)] != '\n' || is_last || ++seen < lines) continue;
      at_ = begin + i + 1;
      return;
    }
    at_ = begin;
  }
  at_ = begin_;  // Fewer than these are left, so that it matters what was cut.
}

std::string Log::read(off_t end) const {
  std::string text(static_cast<std::size_t>(std::max<off_t>(end - at_, 0)), '\0');
  const ssize_t count = ::pread(file_.get(), text.data(), text.size(), at_);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

// See Note [Bound of a log]. The first line that is left is a part of one.
void Log::skip_cut() {
  const off_t left = first_left(at_);
  if (left == at_) return;
  std::array<char, 4096> block{};
  const ssize_t count = ::pread(file_.get(), block.data(), block.size(), left);
  const auto* end = count > 0 ? std::find(block.begin(), block.begin() + count, '\n') : nullptr;
  const bool has_line = end != nullptr && end != block.begin() + count;
  const off_t next = left + (has_line ? end - block.begin() + 1 : 0);
  cut_ += Bytes{static_cast<std::uint64_t>(next - at_)};
  at_ = next;
}

void Log::copy(off_t end) {
  std::array<char, 65536> block{};
  while (at_ < end) {
    skip_cut();
    if (at_ >= end) return;
    const auto wanted = std::min<std::size_t>(block.size(), static_cast<std::size_t>(end - at_));
    const ssize_t count = ::pread(file_.get(), block.data(), wanted, at_);
    if (count <= 0) return;
    if (first_left(at_) != at_) continue;  // It was cut meanwhile: some of that may be zeros.
    for (ssize_t written = 0; written < count;) {
      const ssize_t more =
          ::write(STDOUT_FILENO, block.data() + written, static_cast<std::size_t>(count - written));
      if (more <= 0) return;
      written += more;
    }
    at_ += count;
  }
}

/// Absent: it is not decided yet. See Note [Where a job's output goes].
std::optional<Place> place_of(const jobs::JobFolder& folder, const jobs::Job& job,
                              std::uint32_t attempt) {
  const jobs::Attempt begun = job.log.empty() ? jobs::Attempt{} : folder.attempt(job.id, attempt);
  if (begun.log_at) {
    return Place{.path = folder.named_log_path(job, attempt),
                 .begin = static_cast<off_t>(begun.log_at->value),
                 .is_named = true};
  }
  const bool is_decided = job.log.empty() || begun.over || attempt < folder.attempts(job.id);
  return is_decided ? std::optional(Place{.path = folder.log_path(job.id, attempt)}) : std::nullopt;
}

/// Where a later attempt has gone on in the same file; `size`: none has.
off_t end_of(const jobs::JobFolder& folder, const jobs::Job& job, std::uint32_t attempt,
             const Log& log, off_t size) {
  const std::uint32_t last = folder.attempts(job.id);
  for (std::uint32_t later = attempt + 1; later <= last; ++later) {
    const std::optional<Place> place = place_of(folder, job, later);
    if (place && place->path == log.path()) return std::min(place->begin, size);
  }
  return size;
}

struct Found {
  jobs::JobFolder folder;
  LeaseId id;
};

constexpr std::uint32_t kJsonLines = 500;
constexpr Bytes kJsonMax = kib(256);  // Of the text.

/// How it ends, of what the last attempt, or the one named, has printed.
wire::JobLog end_of_log(const jobs::JobFolder& folder, const jobs::Job& job,
                        const LogsOptions& logs) {
  // Looked at before the log: what is over writes no more.
  const std::optional<jobs::JobResult> result = folder.result(job.id);
  const std::uint32_t begun = folder.attempts(job.id);
  wire::JobLog found{.job = folder.name_of(job.id),
                     .attempt = logs.attempt.value_or(begun),
                     .attempts = begun,
                     .over = result.has_value(),
                     .trouble = result ? result->trouble : "",
                     .text = {},
                     .is_whole = true};
  const auto place = begun > 0 ? place_of(folder, job, found.attempt) : std::nullopt;
  if (!place) return found;
  Log log(*place);
  const off_t end = logs.attempt ? end_of(folder, job, found.attempt, log, log.size()) : log.size();
  log.skip_to_last(logs.lines.value_or(kJsonLines), end);
  log.skip_to_last(kJsonMax, end);
  found.text = log.read(end);
  found.is_whole = !log.has_more_before();
  return found;
}

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
  const auto lease = select_one(session, logs.word);
  if (!lease) return std::nullopt;
  const std::optional<SetMember>& member = lease->request.member;
  const std::string name = member ? to_text(*member) : to_text(lease->id);
  if (auto found = by_number(name, folder)) return found;
  session.fail(ExitCode::kNoInput, "lease " + to_text(lease->id) +
                                       " is no job of yours, so nothing that it printed was kept "
                                       "(berth submit makes jobs)");
  return std::nullopt;
}

int show(const jobs::JobFolder& folder, const jobs::Job& job, const LogsOptions& logs) {
  const LeaseId id = job.id;
  const std::uint32_t begun = folder.attempts(id);
  std::uint32_t attempt = logs.attempt.value_or(std::max(begun, 1U));
  bool told = false;
  std::optional<Log> log;
  while (true) {
    // Looked at before the log: what is over writes no more.
    const std::optional<jobs::JobResult> result = folder.result(id);
    const std::uint32_t last = folder.attempts(id);
    const bool is_first = !log;
    const std::optional<Place> place =
        attempt <= last ? place_of(folder, job, attempt) : std::nullopt;
    // The same file goes on, also of the next attempt.
    if (place && (!log || log->path() != place->path)) log.emplace(*place);
    if (log) {
      const off_t size = log->size();
      const off_t end = logs.attempt ? end_of(folder, job, attempt, *log, size) : size;
      if (is_first && logs.lines) log->skip_to_last(*logs.lines, end);
      log->copy(end);
      if (const Bytes cut = log->take_cut(); cut.value > 0) {
        complain("berth: job " + folder.name_of(id) + ": " +
                 to_text(Bytes{cut.value / kib(1).value * kib(1).value}) +
                 " of its log were cut away, as jobs.log_max says\n");
      }
    }
    if (!logs.attempt && attempt < last && place_of(folder, job, attempt + 1)) {
      ++attempt;
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
  options.add("--json", store(logs.json),
              "one object: how it ends (500 lines, if --lines says nothing; 256 KiB at most)");
  options.operand("LEASE", store(logs.word), "a job: by number, name, or @last");
  invocation.is_for_programs = [&logs] { return logs.json; };
  if (const auto end = invocation.parse()) return *end;
  if (logs.json && logs.follow) {
    return invocation.usage_error("--json says how it ends now, and --follow goes on: one of both");
  }
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
  const std::uint32_t begun = found->folder.attempts(found->id);
  if (logs.attempt && (*logs.attempt == 0 || *logs.attempt > begun)) {
    return invocation.fail(ExitCode::kNoInput, "job " + found->folder.name_of(found->id) + " has " +
                                                   std::to_string(begun) + " attempts");
  }
  const jobs::Job known = job.ok() ? *job : jobs::Job{.id = found->id};
  if (!logs.json) return show(found->folder, known, logs);
  print(wire::encode_job_log(end_of_log(found->folder, known, logs)) + "\n");
  return to_status(ExitCode::kOk);
}

}  // namespace berth::cli
