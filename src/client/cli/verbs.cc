// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"

#include <array>

namespace berth::cli {
namespace {

// In the order of the overview that `berth --help` prints.
constexpr std::array kVerbs = {
    Verb{"run", "", "Daily", "run a command with GPU memory of its own", run_run},
    Verb{"submit", "", "Daily", "run a command when it is its turn, and return at once",
         run_submit},
    Verb{"plan", "", "Daily", "when the sessions of this directory's plan would run", run_plan},
    Verb{"up", "", "Daily", "start the sessions of this directory's plan", run_up},
    Verb{"down", "", "Daily", "have them save themselves, and end them", run_down},
    Verb{"reserve", "", "Daily", "hold GPU memory for a time, without a command", run_reserve},
    Verb{"renew", "", "Daily", "more time for a reservation", run_renew},
    Verb{"release", "", "Daily", "end a lease; its memory is free once its programs free it",
         run_release},
    Verb{"status", "", "See", "GPUs, leases and queue at a glance", run_status},
    Verb{"top", "", "See", "all of that, live, with keys to act", run_top},
    Verb{"ps", "", "See", "leases of all users", run_ps},
    Verb{"queue", "q", "See", "who waits, and for what", run_queue},
    Verb{"show", "", "See", "all that is known of a lease", run_show},
    Verb{"why", "", "See", "why a request waits, and what would help", run_why},
    Verb{"logs", "", "See", "what a job has printed", run_logs},
    Verb{"wait", "", "See", "until leases have ended, or until a size would fit", run_wait},
    Verb{"fit", "", "See", "whether a size would be granted now, or when", run_fit},
    Verb{"estimate", "", "See", "how much memory training a model takes", run_estimate},
    Verb{"recommend", "", "See", "settings with which a model fits, with reasons", run_recommend},
    Verb{"history", "", "See", "how memory was used, and what became of leases", run_history},
    Verb{"replay", "", "See", "how long tasks would wait under each order of the queue",
         run_replay},
    Verb{"events", "", "See", "what happens, as it happens", run_events},
    Verb{"dashboard", "", "See", "the page of Berth in a browser", run_dashboard},
    Verb{"resize", "", "Control", "change the memory of a lease while it runs", run_resize},
    Verb{"checkpoint", "", "Control", "have a lease's program save itself", run_checkpoint},
    Verb{"pause", "", "Control", "move a lease's memory to the host, or stop its processes",
         run_pause},
    Verb{"resume", "", "Control", "let a paused lease go on", run_resume},
    Verb{"move", "", "Control", "have a lease go on on another GPU", run_move},
    Verb{"hold", "", "Control", "keep a request from being granted, and let it again", run_hold},
    Verb{"edit", "", "Control", "change what a request asks for while it waits", run_edit},
    Verb{"requeue", "", "Control", "stop a lease's command, and start it again in its turn",
         run_requeue},
    Verb{"message", "", "Control", "ask something of the holder of a lease", run_message},
    Verb{"agree", "", "Control", "agree to what a message asks", run_agree},
    Verb{"refuse", "", "Control", "refuse what a message asks", run_refuse},
    Verb{"cancel", "", "Control", "stop a lease's command, or take a request out of the queue",
         run_cancel},
    Verb{"clean", "", "Control", "remove logs and results of jobs that are over", run_clean},
    Verb{"doctor", "", "Machine", "look for what is wrong, and what mends it", run_doctor},
    Verb{"daemon", "", "Machine", "start, stop and look at the daemon", run_daemon},
    Verb{"config", "", "Machine", "what is configured, by whom, and whether it is in order",
         run_config},
    Verb{"alert", "", "Machine", "notify when a condition holds", run_alert},
    Verb{"query", "", "Machine", "figures of GPUs as nvidia-smi writes them, for programs",
         run_query},
    Verb{"export", "", "Machine", "figures of the past as CSV, for other programs", run_export},
    Verb{"trust", "", "Machine", "let the commands of a plan be run", run_trust},
    Verb{"mcp", "", "Connect", "a server of the Model Context Protocol, for coding agents",
         run_mcp},
    Verb{"setup", "", "Connect", "tell a coding agent of Berth, in its own settings", run_setup},
    Verb{"hook", "", "Connect", "what the hooks of a coding agent call", run_hook},
    Verb{"completion", "", "Connect", "a script that completes command lines in your shell",
         run_completion},
    Verb{"version", "", "Connect", "versions of this program and of the daemon", run_version},
};

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  for (const Verb& verb : kVerbs) {
    if (name == verb.name || (!verb.alias.empty() && name == verb.alias)) return &verb;
  }
  return nullptr;
}

}  // namespace berth::cli
