// SPDX-License-Identifier: Apache-2.0
#include "cli/past.h"

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

void declare_past(Options& options, PastArgs& asked) {
  options.add("--since=TIME", store(asked.since),
              "from when on: an age (24h), or 2026-02-07T13:15Z, or 2026-02-07");
  options.add("--until=TIME", store(asked.until), "up to when, likewise; now");
  options.add("--step=DURATION", store_positive(asked.step),
              "what one point stands for, 1s to 1d; never less than is kept of the time");
  options.add("-g,--gpu=GPU", store(asked.gpu), "only this GPU: index or UUID");
  options.add("--lease=LEASE", store(asked.lease),
              "only this lease; by its number also one that nothing else remembers");
  options.add("--of=WHAT", store(asked.of), "figures of GPUs (device), of leases, or of processes",
              {"device", "lease", "process", "all"});
  options.add("--sessions", store(asked.sessions), "what became of each lease, instead of figures");
}

void declare_events(Options& options, PastArgs& asked) {
  options.add("--events", store(asked.events), "who did what to which lease, instead of figures");
  options.add("--user=USER", store(asked.user),
              "with --events: only what this user did, or what was done to their leases");
}

std::string at_odds(const PastArgs& asked) {
  if (asked.events && asked.sessions) return "say either --events or --sessions";
  if (!asked.user.empty() && !asked.events) return "--user goes with --events";
  const bool figures = !asked.gpu.empty() || !asked.of.empty() || asked.step;
  if (asked.events && figures) return "--events tells of leases: without --gpu, --of and --step";
  if (!asked.sessions || (asked.gpu.empty() && asked.of.empty() && !asked.step)) return "";
  return "--sessions tells of leases: without --gpu, --of and --step";
}

std::string target_of(const PastArgs& asked) {
  const PastArgs::What what = asked.what();
  std::string target = wire::target_of(what == PastArgs::What::kEvents     ? wire::Route::kAudit
                                       : what == PastArgs::What::kSessions ? wire::Route::kSessions
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
  if (of != "all" && what == PastArgs::What::kFigures) add_part(target, "of", of);
  return target;
}

const std::string& sample_past(PastArgs::What what) {
  static const std::string kSessions = wire::encode_sessions({.sessions = {{}}});
  static const std::string kPast = wire::encode_past({.past = {.series = {{.buckets = {{}}}}}});
  static const std::string kEvents =
      wire::encode_audit({.audit = {{.by = UserId{}, .lease = LeaseId{1}}}});
  if (what == PastArgs::What::kEvents) return kEvents;
  return what == PastArgs::What::kSessions ? kSessions : kPast;
}

bool check_whole(const wire::PastAnswer& answer, DaemonSession& session) {
  if (!answer.past.cut) return true;
  session.fail(ExitCode::kFailed,
               "that is more than one answer holds, and some is left out: ask for less time, "
               "one GPU (-g), one lease (--lease) or a longer --step");
  return false;
}

}  // namespace berth::cli
