// SPDX-License-Identifier: Apache-2.0
// `berth clean`: removes what is kept of jobs that are over.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/number.h"
#include "cli/lease_words.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "jobs/job_folder.h"
#include "os/clock.h"
#include "os/paths.h"

namespace berth::cli {
namespace {

struct CleanOptions {
  std::vector<std::string> words;
  bool only_ok = false;
  bool dry_run = false;
  std::optional<Duration> older;
};

/// Those that the words name; the daemon may have forgotten them, so that only numbers do.
Result<std::vector<LeaseId>> named_jobs(const std::vector<std::string>& words,
                                        const std::vector<LeaseId>& all) {
  if (words.empty()) return all;
  std::vector<LeaseId> named;
  for (const std::string& word : words) {
    TRY(parsed, parse_lease_word(word));
    std::optional<LeaseRange> range;
    if (const auto* found = std::get_if<LeaseRange>(&parsed)) range = *found;
    if (const auto number = parse_number<std::uint64_t>(word)) range = LeaseRange{*number, *number};
    if (!range) return wrong("'" + word + "' is no number of a job, and no range of them (3..7)");
    std::ranges::copy_if(all, std::back_inserter(named), [&](LeaseId id) {
      return id.value >= range->first && id.value <= range->last;
    });
  }
  return named;
}

bool is_meant(const jobs::JobFolder& folder, LeaseId id, const CleanOptions& clean) {
  const std::optional<jobs::JobResult> result = folder.result(id);
  const std::optional<UnixMs> at = folder.finished_at(id);
  if (!result || !at || (clean.only_ok && result->result != EndResult::kOk)) return false;
  const std::int64_t age_ms = os::PosixClock().wall().value - at->value;
  return !clean.older || age_ms >= clean.older->ns / 1'000'000;
}

}  // namespace

int run_clean(Invocation& invocation) {
  CleanOptions clean;
  invocation.about =
      "Removes the logs and results of jobs that are over; of those that wait or run, nothing. "
      "What "
      "berth history says of them stays.";
  invocation.examples = {{"berth clean --ok --older 7d", "what ended well a week ago"}};
  Options& options = invocation.options;
  options.add("--ok", store(clean.only_ok), "only those that ended well");
  options.add("--older=DURATION", store_positive(clean.older),
              "only those that ended that long ago");
  options.add("--dry-run", store(clean.dry_run), "only say what would be done");
  options.operand("[JOB...]", store(clean.words),
                  "numbers, or ranges of them; all, if none is named");
  if (const auto end = invocation.parse()) return *end;
  const Result<jobs::JobFolder> folder = jobs::JobFolder::find(os::read_environment());
  if (!folder.ok()) return invocation.fail(folder.error());
  const Result<std::vector<LeaseId>> named = named_jobs(clean.words, folder->list());
  if (!named.ok()) return invocation.usage_error(named.error().message);
  std::size_t count = 0;
  for (const LeaseId id : *named) {
    if (!is_meant(*folder, id, clean)) continue;
    const Status removed = clean.dry_run ? Status(Unit{}) : folder->remove(id);
    if (!removed.ok()) return invocation.fail(removed.error());
    ++count;
  }
  const std::string jobs = std::to_string(count) + (count == 1 ? " job" : " jobs");
  print((clean.dry_run ? "would remove " : "removed ") + jobs + "\n");
  return to_status(ExitCode::kOk);
}

}  // namespace berth::cli
