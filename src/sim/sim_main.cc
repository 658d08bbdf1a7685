// SPDX-License-Identifier: Apache-2.0
// berth-sim: runs the fault simulator on one seed or on many, and prints a seed that fails as the
// command that replays it.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "base/number.h"
#include "base/quantity.h"
#include "sim/context.h"
#include "sim/seeds.h"

namespace {

using berth::Duration;
using berth::sim::Outcome;
using berth::sim::Range;
using berth::sim::Span;
using berth::sim::Summary;

constexpr std::uint64_t kCountDefault = 200;
constexpr std::uint64_t kCoverageLeast = 200;  // Seeds, from which on rare faults must have shown.

// A CHECK that fails aborts in the thread of its seed: what is printed then is made ready before.
thread_local char crash_message[96];
thread_local std::size_t crash_message_length = 0;

std::string replay_of(std::uint64_t seed, Duration span) {
  const std::int64_t seconds = span.ns / berth::seconds(1).ns;
  return "./dev sim " + (seconds > 0 ? fmt::format("--span {} ", seconds) : "") +
         std::to_string(seed);
}

void name_seed(std::uint64_t seed, Duration span) {
  const std::string text = fmt::format("sim: a check failed; replay: {}\n", replay_of(seed, span));
  crash_message_length = text.copy(crash_message, sizeof crash_message);
}

void on_abort(int) {
  if (write(STDERR_FILENO, crash_message, crash_message_length) < 0) _exit(1);
}

// "FIRST..LAST", or how many fresh ones.
std::optional<Range> parse_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const std::optional<std::uint64_t> count = berth::parse_number<std::uint64_t>(text);
    if (!count) return std::nullopt;
    std::random_device device;
    return Range{.first = (std::uint64_t{device()} << 16U) ^ device(), .count = *count};
  }
  const std::optional<std::uint64_t> first =
      berth::parse_number<std::uint64_t>(text.substr(0, dots));
  const std::optional<std::uint64_t> last =
      berth::parse_number<std::uint64_t>(text.substr(dots + 2));
  if (!first || !last || *last < *first) return std::nullopt;
  return Range{.first = *first, .count = *last - *first + 1};
}

void print_kept(const Span::Kept& kept) {
  fmt::print("kept by the coordinator in each seventh of the span, at least: {} bytes\n",
             fmt::join(kept, ", "));
}

int replay(std::uint64_t seed, bool printed, Duration span) {
  name_seed(seed, span);
  const Outcome outcome = berth::sim::run_seed(seed, printed, span);
  fmt::print("seed {}: {} events, {} sessions, {} faults, trace {:016x}, journal {:016x}\n", seed,
             outcome.events, outcome.sessions, outcome.coverage.faults(), outcome.trace_hash,
             outcome.journal_hash);
  if (span > Duration{}) print_kept(outcome.kept);
  if (outcome.broken.empty()) return 0;
  fmt::print("FAILED: {}\n", outcome.broken);
  return 1;
}

// So many seeds are a line: what differs is found among few, and the file stays small.
constexpr std::uint64_t kSeedsPerLine = 100;

bool write_journals(const std::string& path, Range range, const Summary& summary) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    fmt::print(stderr, "berth-sim: {} cannot be written: {}\n", path, std::strerror(errno));
    return false;
  }
  for (std::uint64_t i = 0; i < summary.journals.size(); i += kSeedsPerLine) {
    const std::uint64_t end = std::min<std::uint64_t>(i + kSeedsPerLine, summary.journals.size());
    berth::sim::Fingerprint line;
    for (std::uint64_t k = i; k < end; ++k) line.mix(summary.journals[k]);
    fmt::print(file, "{}..{} {:016x}\n", range.first + i, range.first + end - 1, line.value());
  }
  return std::fclose(file) == 0;
}

int run_many(Range range, std::size_t threads, bool quiet, const std::string& journals) {
  fmt::print("seeds {}..{}\n", range.first, range.first + range.count - 1);
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  const Summary summary = berth::sim::run_seeds(
      range, threads, [span = range.span](std::uint64_t seed) { name_seed(seed, span); });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (quiet) {
    fmt::print("faults: {}\n", summary.coverage.faults_told());
  } else {
    summary.coverage.print();
  }
  fmt::print("{} seeds, {} events, {:.1f} s, {:.0f} events/s\n", summary.seeds, summary.events,
             took.count(), static_cast<double>(summary.events) / took.count());
  if (range.span > Duration{}) print_kept(summary.kept);
  if (!summary.broken.empty()) {
    fmt::print("FAILED: {}\nreplay: {}\n", summary.broken,
               replay_of(summary.broken_seed, range.span));
    return 1;
  }
  if (summary.uncounted > 0) {
    fmt::print("FAILED: in {} seeds too little happened to show anything\n", summary.uncounted);
    return 1;
  }
  if (!journals.empty() && !write_journals(journals, range, summary)) return 1;
  if (summary.seeds >= kCoverageLeast && !summary.coverage.missed().empty()) {
    fmt::print("FAILED: fewer than 1 % of the seeds reached '{}'\n", summary.coverage.missed());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): it fails without stdout.
  CLI::App app("Runs the fault simulator.", "berth-sim");
  std::optional<std::uint64_t> seed;
  std::string seeds;
  std::string span_text = "0";
  std::string journals;
  bool quiet = false;
  std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("SEED", seed, "replay this one, and print what happens");
  app.add_option("--seeds", seeds, "FIRST..LAST, or how many fresh ones (200; with --span 1)");
  app.add_option("--span", span_text,
                 "simulated time that each goes on for at least, as 168h: what the coordinator "
                 "keeps must not grow meanwhile");
  app.add_option("--journals", journals,
                 "write here, a line for each hundred seeds, a hash of all that was written to "
                 "their journals");
  app.add_flag("--quiet", quiet, "print the result and the counts of faults alone");
  app.add_option("--jobs", threads, "seeds at a time")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::signal(SIGABRT, on_abort);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  const berth::Result<Duration> span = berth::parse_duration(span_text);
  if (!span.ok()) {
    fmt::print(stderr, "berth-sim: --span: {}\n", span.error().message);
    return 64;
  }
  if (seed) return replay(*seed, !quiet, *span);
  if (seeds.empty()) seeds = std::to_string(*span > Duration{} ? 1 : kCountDefault);
  std::optional<Range> range = parse_range(seeds);
  if (!range) {
    fmt::print(stderr, "berth-sim: --seeds wants FIRST..LAST or a number, not '{}'\n", seeds);
    return 64;
  }
  range->span = *span;
  return run_many(*range, threads, quiet, journals);
}
