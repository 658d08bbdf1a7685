// SPDX-License-Identifier: Apache-2.0
#include "cli/run/set_lines.h"

#include <poll.h>

#include <functional>
#include <set>
#include <utility>

#include "jobs/job_folder.h"
#include "jobs/sweep.h"
#include "os/files.h"
#include "os/paths.h"

namespace berth::cli {
namespace {

constexpr int kResultTries = 100;
constexpr int kResultEveryMs = 20;
constexpr std::size_t kEachMax = std::size_t{64} << 20U;

/// A set of ours that is over.
struct Earlier {
  jobs::JobFolder folder;
  jobs::Job job;
  std::vector<std::string> lines;

  /// Of the members whose end is such.
  std::vector<std::string> lines_that(const std::function<bool(EndResult)>& ended) const {
    const jobs::JobFolder members = folder.members_of(job.id);
    std::vector<std::string> found;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::optional<jobs::JobResult> result = members.result({i + 1});
      if (result && ended(result->result)) found.push_back(lines[i]);
    }
    return found;
  }
};

Result<Earlier> earlier_set(LeaseId set, const std::string& option) {
  TRY(folder, jobs::JobFolder::find(os::read_environment()));
  const Result<jobs::Job> job = folder.read(set);
  Result<std::vector<std::string>> lines = folder.lines(set);
  if (!job.ok() || !lines.ok()) {
    return wrong(option + ": there is no set " + to_text(set) + " of yours");
  }
  // The daemon knows a moment earlier that it has ended than its keeper has written how.
  for (int i = 0; i < kResultTries && !folder.result(set); ++i) ::poll(nullptr, 0, kResultEveryMs);
  if (!folder.result(set)) {
    return wrong(option + ": set " + to_text(set) + " is not over (berth wait " + to_text(set) +
                 ")");
  }
  return Earlier{folder, *job, *std::move(lines)};
}

// What a set that was resumed had done counts for the one that resumed it. Those that were cleaned
// away tell nothing.
std::set<std::string> done_in(Earlier set) {
  std::set<std::string> done;
  while (true) {
    const auto ok = [](EndResult result) { return result == EndResult::kOk; };
    for (std::string& line : set.lines_that(ok)) done.insert(std::move(line));
    const std::optional<LeaseId> before = set.job.resumes;
    if (!before || *before >= set.job.id || !set.folder.has(*before)) return done;
    Result<Earlier> earlier = earlier_set(*before, "--resume");
    if (!earlier.ok()) return done;
    set = *std::move(earlier);
  }
}

Result<std::vector<std::string>> all_lines_of(const RunOptions& run) {
  if (!run.grid.empty()) return jobs::lines_of_grid(run.grid);
  if (!run.each) return std::vector<std::string>();
  const std::string path = *run.each == "-" ? "/dev/stdin" : *run.each;
  const Result<std::string> text = os::read_file(path, kEachMax);
  if (!text.ok()) return wrong("--each: " + text.error().message);
  Result<std::vector<std::string>> lines = jobs::lines_of_each(*text);
  if (!lines.ok()) return wrong("--each " + *run.each + ": " + lines.error().message);
  return lines;
}

Result<SetLines> failed_lines_of(LeaseId set, const RunOptions& run) {
  TRY(earlier, earlier_set(set, "--failed"));
  const auto failed = [](EndResult result) { return result != EndResult::kOk; };
  return SetLines{.lines = earlier.lines_that(failed),
                  .resumes = set,
                  .seed = run.seed ? run.seed : earlier.job.seed};
}

}  // namespace

Result<SetLines> set_lines_of(const RunOptions& run) {
  if (run.failed_of) return failed_lines_of(*run.failed_of, run);
  if (run.each && !run.grid.empty()) return wrong("--each and --grid: one of them");
  const bool is_set = run.each || !run.grid.empty();
  if (run.running_max && !is_set) return wrong("--max-running is of --each and --grid");
  if (run.resume && !is_set) return wrong("--resume is of --each and --grid");
  if (run.seed && !is_set) return wrong("--seed is of --each and --grid");
  if (run.running_max == 0) return wrong("--max-running: at least 1");
  TRY(lines, all_lines_of(run));
  SetLines set{.lines = std::move(lines), .seed = run.seed};
  if (!run.resume) return set;
  set.resumes = LeaseId{*run.resume};
  TRY(earlier, earlier_set(*set.resumes, "--resume"));
  if (!set.seed) set.seed = earlier.job.seed;
  const std::set<std::string> done = done_in(std::move(earlier));
  std::erase_if(set.lines, [&](const std::string& line) { return done.contains(line); });
  return set;
}

}  // namespace berth::cli
