// SPDX-License-Identifier: Apache-2.0
#include "cli/past.h"

#include "base/quantity.h"
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
                 .help = "from when on: so long ago (24h), or 2026-02-07T13:15Z, or 2026-02-07"},
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

std::string at_odds(const PastAsked& asked) {
  if (!asked.sessions || (asked.gpu.empty() && asked.of.empty() && !asked.step)) return "";
  return "--sessions tells of leases: without --gpu, --of and --step";
}

std::string target_of(const PastAsked& asked) {
  std::string target =
      wire::target_of(asked.sessions ? wire::Route::kSessions : wire::Route::kHistory);
  add_part(target, "since", asked.since);
  add_part(target, "until", asked.until);
  if (asked.step) {
    add_part(target, "step", std::to_string(asked.step->ns / milliseconds(1).ns) + "ms");
  }
  add_part(target, "device", asked.gpu);
  add_part(target, "lease", asked.lease);
  const std::string of = asked.of.empty() && asked.lease.empty() ? "device" : asked.of;
  if (of != "all" && !asked.sessions) add_part(target, "of", of);
  return target;
}

const std::string& sample_past(bool sessions) {
  static const std::string kSessions = wire::encode_sessions({history::Session{}}, {});
  static const std::string kPast =
      wire::encode_past({.series = {{.buckets = {history::Bucket{}}}}}, {});
  return sessions ? kSessions : kPast;
}

bool check_whole(const wire::PastAnswer& answer, Conversation& conversation) {
  if (!answer.past.cut) return true;
  conversation.fail(ExitCode::kFailed,
                    "that is more than one answer holds, and some is left out: ask for less time, "
                    "one GPU (-g), one lease (--lease) or a longer --step");
  return false;
}

}  // namespace berth::cli
