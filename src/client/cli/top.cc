// SPDX-License-Identifier: Apache-2.0
// `berth top`: a live view on the terminal.
#include <string>

#include "cli/daemon_session.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/top/background.h"
#include "cli/top/viewer.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

top::Colours colours_of(const Terminal& terminal) {
  if (!terminal.colour) return top::Colours::kNone;
  const std::string term(environment_text("TERM"));
  const bool many =
      term.find("256color") != std::string::npos || !environment_text("COLORTERM").empty();
  return many ? top::Colours::kMany : top::Colours::kSixteen;
}

// What is known of it before it is asked.
top::Palette palette_of(const Terminal& terminal) {
  const auto background = top::background_by_colorfgbg(environment_text("COLORFGBG"));
  return {colours_of(terminal), background.value_or(top::Background::kDark)};
}

// Linux's own console has no answer, and older ones show the question.
bool can_be_asked(const Terminal& terminal) {
  const std::string_view term = environment_text("TERM");
  return terminal.colour && !term.empty() && term != "dumb" && term != "linux";
}

}  // namespace

int run_top(Invocation& invocation) {
  top::Options options;
  bool once = false;
  bool ascii = false;
  invocation.about =
      "Shows GPUs, leases, queue and events as they change, and acts on the lease that is chosen: "
      "pause, resume, save, end, message, why. What ends or moves something asks first. The key ? "
      "lists all keys; q quits. With --once one frame is written, without colours or the cursor: "
      "for pipes and screen readers.";
  invocation.examples = {{"berth top", "the view"},
                         {"berth top --mine -g 0", "your leases on GPU 0"},
                         {"berth top --once", "one frame, as text"}};
  invocation.options.add("--once", store(once), "write one frame, and end");
  invocation.options.add("--read-only", store(options.read_only), "a view that cannot act");
  invocation.options.add("-g,--gpu=INDEX", store(options.gpu), "only leases on that GPU");
  invocation.options.add("--mine", store(options.mine), "only your leases");
  invocation.options.add("--ascii", store(ascii), "no letters beyond ASCII");
  if (const auto end = invocation.parse()) return *end;
  if (!settings_of(invocation)) return to_status(ExitCode::kConfig);
  if (!once && (!invocation.terminal.output_is_terminal || environment_text("TERM") == "dumb")) {
    return invocation.usage_error("this is no terminal that can show it: --once writes one frame");
  }
  DaemonSession session(invocation);
  if (!session.open()) return session.status();
  top::Viewer viewer(session, {.options = options,
                               .ascii = ascii,
                               .palette = palette_of(invocation.terminal),
                               .asks_background = can_be_asked(invocation.terminal),
                               .width = invocation.terminal.width});
  return once ? viewer.once() : viewer.run();
}

}  // namespace berth::cli
