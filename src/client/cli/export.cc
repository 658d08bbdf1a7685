// SPDX-License-Identifier: Apache-2.0
// `berth export`: figures of the past for other programs.
#include <optional>
#include <string>

#include "cli/output_mode.h"
#include "cli/past.h"
#include "cli/render/history.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

// As the loops wrote it that asked nvidia-smi each second.
std::optional<std::string> monitor_text(const wire::PastAnswer& answer, OutputMode& output_mode) {
  if (auto lines = monitor_lines(answer.past, output_mode.choice().header)) return lines;
  output_mode.session().fail(ExitCode::kUsage,
                             "there are several GPUs: --format monitor tells of one, as in "
                             "berth export --format monitor -g 0");
  return std::nullopt;
}

std::optional<std::string> export_text(const PastArgs& asked, bool monitor,
                                       OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  const auto body = session.get(target_of(asked));
  if (!body) return std::nullopt;
  if (!asked.sessions) {
    const auto answer = session.understood(wire::decode_past(*body));
    if (!answer) return std::nullopt;
    check_whole(*answer, session);
    if (monitor) return monitor_text(*answer, output_mode);
  }
  return output_mode.for_programs(
      {.json = *body, .items = "items", .sample = sample_past(asked.what())});
}

}  // namespace

int run_export(Invocation& invocation) {
  OutputMode output_mode(invocation);
  PastArgs asked;
  std::string format;
  invocation.about =
      "Writes figures of the past to stdout, as CSV (RFC 4180, lines end with CR LF) if nothing "
      "else is said: one line a point, in the finest step that is kept of that time. With --format "
      "monitor: timestamp,memory.used of one GPU, in UTC and MiB, as loops around nvidia-smi wrote "
      "it; its lines end with LF.";
  invocation.examples = {
      {"berth export --since 24h > vram.csv", "all GPUs, the last day"},
      {"berth export --of process --lease train --json", "the processes of a lease, as JSON"},
      {"berth export --format monitor -g 0 > vram_log.csv", "what the old loop would have written"},
  };
  declare_past(invocation.options, asked);
  invocation.options.add("--format=FORM", store(format), "full, or monitor: timestamp,memory.used",
                         {"full", "monitor"});
  output_mode.declare(Watching::kNo);
  output_mode.prefer(Format::kCsv);
  if (const auto end = invocation.parse()) return *end;
  if (const std::string wrong = at_odds(asked); !wrong.empty()) {
    return invocation.usage_error(wrong);
  }
  const bool monitor = format == "monitor";
  if (monitor && (asked.sessions || !asked.lease.empty() || !asked.of.empty())) {
    return invocation.usage_error(
        "--format monitor tells of a GPU: without --sessions, --lease "
        "and --of");
  }
  if (monitor &&
      (output_mode.choice().format != Format::kCsv || !output_mode.choice().fields.empty())) {
    return invocation.usage_error("--format monitor is a form of its own: without -o and --fields");
  }
  if (!asked.step && !asked.sessions) asked.step = seconds(1);
  return output_mode.open_and_show([&] { return export_text(asked, monitor, output_mode); });
}

}  // namespace berth::cli
