// SPDX-License-Identifier: Apache-2.0
#include "cli/past.h"

#include "base/quantity.h"
#include "wire/audit.h"
#include "wire/routes.h"
#include "wire/url.h"

namespace berth::cli {
namespace {

void add_part(std::string& target, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  target.append(target.find('?') == std::string::npos ? "?" : "&").append(key).append("=");
  target += wire::percent_encode(value);
}

}  // namespace

void declare_past(Options& options, PastAsked& asked) {
  options.value({.names = "--since",
                 .metavar = "TIME",
                 .help = "from when on: an age (24h), or 2026-02-07T13:15Z, or 2026-02-07"},
                into(asked.since));
  options.value({.names = "--until", .metavar = "TIME", .help = "up to when, likewise; now"},
                into(asked.until));
  options.value(
      {.names = "--step",
       .metavar = "DURATION",
       .help = "what one point stands for, 1s to 1d; never less than is kept of the time"},
      some_time_into(asked.step));
  options.value({.names = "-g,--gpu", .metavar = "GPU", .help = "only this GPU: index or UUID"},
                into(asked.gpu));
  options.value({.names = "--lease",
                 .metavar = "LEASE",
                 .help = "only this lease; by its number also one that nothing else remembers"},
                into(asked.lease));
  options.value({.names = "--of",
                 .metavar = "WHAT",
                 .help = "figures of GPUs (device), of leases, or of processes",
                 .choices = {"device", "lease", "process", "all"}},
                into(asked.of));
  options.flag({.names = "--sessions", .help = "what became of each lease, instead of figures"},
               into(asked.sessions));
}

void declare_events(Options& options, PastAsked& asked) {
  options.flag({.names = "--events", .help = "who did what to which lease, instead of figures"},
               into(asked.events));
  options.value(
      {.names = "--user",
       .metavar = "USER",
       .help = "with --events: only what this user did, or what was done to their leases"},
      into(asked.user));
}

std::string at_odds(const PastAsked& asked) {
  if (asked.events && asked.sessions) return "say either --events or --sessions";
  if (!asked.user.empty() && !asked.events) return "--user goes with --events";
  const bool figures = !asked.gpu.empty() || !asked.of.empty() || asked.step;
  if (asked.events && figures) return "--events tells of leases: without --gpu, --of and --step";
  if (!asked.sessions || (asked.gpu.empty() && asked.of.empty() && !asked.step)) return "";
  return "--sessions tells of leases: without --gpu, --of and --step";
}

std::string target_of(const PastAsked& asked) {
  const PastAsked::What what = asked.what();
  std::string target =
      wire::target_of(what == PastAsked::What::kEvents     ? wire::Route::kAudit
                      : what == PastAsked::What::kSessions ? wire::Route::kSessions
                                                           : wire::Route::kHistory);
  add_part(target, "since", asked.since);
  add_part(target, "until", asked.until);
  if (asked.step) {
    add_part(target, "step", std::to_string(asked.step->ns / milliseconds(1).ns) + "ms");
  }
  add_part(target, "device", asked.gpu);
  add_part(target, "lease", asked.lease);
  add_part(target, "user", asked.user);
  const std::string of = asked.of.empty() && asked.lease.empty() ? "device" : asked.of;
  if (of != "all" && what == PastAsked::What::kFigures) add_part(target, "of", of);
  return target;
}

const std::string& sample_past(PastAsked::What what) {
  static const std::string kSessions = wire::encode_sessions({history::Session{}}, {});
  static const std::string kPast =
      wire::encode_past({.series = {{.buckets = {history::Bucket{}}}}}, {});
  static const std::string kEvents =
      wire::encode_audit({{.by = UserId{}, .lease = LeaseId{1}}}, {});
  if (what == PastAsked::What::kEvents) return kEvents;
  return what == PastAsked::What::kSessions ? kSessions : kPast;
}

bool check_whole(const wire::PastAnswer& answer, Conversation& conversation) {
  if (!answer.past.cut) return true;
  conversation.fail(ExitCode::kFailed,
                    "that is more than one answer holds, and some is left out: ask for less time, "
                    "one GPU (-g), one lease (--lease) or a longer --step");
  return false;
}

}  // namespace berth::cli
