// SPDX-License-Identifier: Apache-2.0
// `berth export`: figures of the past for other programs.
#include <optional>
#include <string>

#include "cli/past.h"
#include "cli/render/history.h"
#include "cli/showing.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

// As the loops wrote it that asked nvidia-smi each second.
std::optional<std::string> monitor_text(const wire::PastAnswer& answer, Showing& showing) {
  if (auto lines = monitor_lines(answer.past, showing.choice().header)) return lines;
  showing.conversation().fail(ExitCode::kUsage,
                              "there are several GPUs: --format monitor tells of one, as in "
                              "berth export --format monitor -g 0");
  return std::nullopt;
}

std::optional<std::string> export_text(const PastAsked& asked, bool monitor, Showing& showing) {
  Conversation& conversation = showing.conversation();
  const auto body = conversation.get(target_of(asked));
  if (!body) return std::nullopt;
  if (!asked.sessions) {
    const auto answer = conversation.understood(wire::decode_past(*body));
    if (!answer) return std::nullopt;
    check_whole(*answer, conversation);
    if (monitor) return monitor_text(*answer, showing);
  }
  return showing.for_programs(
      {.json = *body, .items = "items", .sample = sample_past(asked.what())});
}

}  // namespace

int run_export(Invocation& invocation) {
  Showing showing(invocation);
  PastAsked asked;
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
  invocation.options.value({.names = "--format",
                            .metavar = "FORM",
                            .help = "full, or monitor: timestamp,memory.used",
                            .choices = {"full", "monitor"}},
                           into(format));
  showing.declare(Watching::kNo);
  showing.prefer(Format::kCsv);
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
  if (monitor && (showing.choice().format != Format::kCsv || !showing.choice().fields.empty())) {
    return invocation.usage_error("--format monitor is a form of its own: without -o and --fields");
  }
  if (!asked.step && !asked.sessions) asked.step = seconds(1);
  if (!showing.open()) return showing.conversation().status();
  return showing.show([&] { return export_text(asked, monitor, showing); });
}

}  // namespace berth::cli
