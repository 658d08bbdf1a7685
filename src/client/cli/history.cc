// SPDX-License-Identifier: Apache-2.0
// `berth history`: how memory was used, and what became of leases.
#include "cli/render/history.h"

#include <optional>
#include <string>

#include "cli/output_mode.h"
#include "cli/past.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

std::optional<std::string> past_text(const PastArgs& asked, OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  const auto body = session.get(target_of(asked));
  if (!body) return std::nullopt;
  const bool for_people = output_mode.choice().is_for_people();
  if (asked.sessions && for_people) {
    const auto answer = session.understood(wire::decode_sessions(*body));
    if (!answer) return std::nullopt;
    session.learn(answer->facts.names);
    return sessions_text(*answer, output_mode.choice().header, output_mode.context());
  }
  if (asked.events && for_people) {
    const auto answer = session.understood(wire::decode_audit(*body));
    if (!answer) return std::nullopt;
    session.learn(answer->facts.names);
    return audit_text(*answer, output_mode.choice().header, output_mode.context());
  }
  if (asked.what() == PastArgs::What::kFigures) {
    const auto answer = session.understood(wire::decode_past(*body));
    if (!answer) return std::nullopt;
    session.learn(answer->facts.names);
    check_whole(*answer, session);
    if (for_people)
      return history_text(*answer, output_mode.choice().header, output_mode.context());
  }
  return output_mode.for_programs(
      {.json = *body, .items = "items", .sample = sample_past(asked.what())});
}

}  // namespace

int run_history(Invocation& invocation) {
  OutputMode output_mode(invocation);
  PastArgs asked;
  invocation.about =
      "Shows how memory was used, granted, and used by programs without a lease, in the last hour "
      "if nothing else is said: a line each, its least, mean, most and last figure. Figures of "
      "each "
      "second are kept for hours, of each minute for days, of each hour for months ([history] in "
      "the configuration). With --sessions: what became of the leases of the last week, how long "
      "they waited, and what they were granted and did not use. With --events: who granted, "
      "paused, "
      "moved, cancelled or released which lease, and why. Where nothing is drawn, nothing is "
      "known.";
  invocation.examples = {
      {"berth history --since 24h -g 0", "GPU 0, the last day"},
      {"berth history --lease train --json", "a lease and its processes, for a program"},
      {"berth history --sessions --since 30d", "who used what in a month"},
      {"berth history --events --lease 8", "who did what to lease 8"},
  };
  declare_past(invocation.options, asked);
  declare_events(invocation.options, asked);
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  if (const std::string wrong = at_odds(asked); !wrong.empty()) {
    return invocation.usage_error(wrong);
  }
  return output_mode.open_and_show([&] { return past_text(asked, output_mode); });
}

}  // namespace berth::cli
