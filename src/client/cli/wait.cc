// SPDX-License-Identifier: Apache-2.0
// `berth wait`: until leases have ended or are in another state, or until a size would fit.
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/quantity.h"
#include "cli/leases.h"
#include "cli/render/phrases.h"
#include "cli/run/console.h"
#include "cli/run/named_devices.h"
#include "cli/run/waiter.h"
#include "cli/settings.h"
#include "cli/verbs.h"
#include "os/clock.h"

namespace berth::cli {
namespace {

struct WaitOptions {
  std::vector<std::string> words;
  bool any = false;
  bool all = false;
  LeaseState state = LeaseState::kEnded;
  std::optional<Duration> timeout;
  std::optional<Bytes> fit;
  std::optional<std::string> gpus;
  bool notify = false;

  Instant until() const { return timeout ? os::PosixClock().now() + *timeout : Instant::never(); }
};

void declare(Invocation& invocation, WaitOptions& wait) {
  Options& options = invocation.options;
  declare_leases(options, wait.words, "[LEASE...]");
  options.add("--all", store(wait.all), "until each of them is there; the default");
  options.add("--any", store(wait.any), "until one of them is there, and print its number");
  options.add("--for=STATE", store(wait.state), "the state to wait for; ended is the default",
              {"held", "suspended", "releasing", "ended"});
  options.add("--timeout=DURATION", store(wait.timeout), "then end with 124");
  options.add("--fit=SIZE", store(wait.fit),
              "instead of leases: until a request of this size would be granted");
  options.add("-g,--gpus=GPUS", store(wait.gpus), "with --fit: how many, or which");
  options.add("--notify", store(wait.notify), "send a terminal notification when the wait is over");
}

int timed_out(const Duration& timeout) {
  complain("berth: not within " + to_text(timeout) + "\n");
  return to_status(ExitCode::kTimeLimit);
}

int failed(const Error& error, const Waiter& waiter, const WaitOptions& wait,
           DaemonSession& session) {
  if (error.code == Errc::kTimedOut) return timed_out(wait.timeout.value_or(Duration{}));
  const auto& refusal = waiter.refusal();
  const ExitCode code = refusal ? wire::exit_code(refusal->code) : client::exit_status_of(error);
  session.fail(code, error.message);
  return session.status();
}

int wait_for_fit(const WaitOptions& wait, const DeviceChoice& choice, DaemonSession& session,
                 Console& console) {
  RequestBody request;
  request.request.vram = checked(wait.fit);
  if (!fill_devices(choice, session, request.request)) return session.status();
  Waiter waiter(session.client(), wait.until());
  const Result<FitView> fit = waiter.wait_for_fit(request);
  if (!fit.ok()) return failed(fit.error(), waiter, wait, session);
  const std::string sentence = to_text(request.request.vram) + " would be granted now";
  const auto& daemon = session.client().connection().daemon();
  console.say(sentence + (daemon && daemon->simulated ? " (the GPU is simulated)" : ""));
  if (wait.notify) console.notify(sentence);
  return to_status(ExitCode::kOk);
}

// The code of the first lease, in the order of the command line, that did not end well.
int status_of(const std::vector<LeaseView>& leases, LeaseState state) {
  for (const LeaseView& lease : leases) {
    if (!has_reached(lease, state)) {
      complain("berth: lease " + to_text(lease.id) + " ended before it was " +
               std::string(to_text(state)) + " (" + result_of(lease) + ")\n");
      return to_status(ExitCode::kFailed);
    }
    if (state != LeaseState::kEnded) continue;
    if (const int status = exit_status_of(lease); status != 0) return status;
  }
  return to_status(ExitCode::kOk);
}

int wait_for_leases(const WaitOptions& wait, DaemonSession& session, Console& console) {
  auto leases = select_leases(session, wait.words);
  if (!leases) return session.status();
  Waiter waiter(session.client(), wait.until());
  Result<std::vector<LeaseView>> reached =
      waiter.wait_for({.leases = *std::move(leases),
                       .state = wait.state,
                       .quorum = wait.any ? Waiter::Quorum::kAny : Waiter::Quorum::kAll});
  if (!reached.ok()) return failed(reached.error(), waiter, wait, session);
  if (wait.notify) console.notify("the wait is over");
  if (wait.any) {
    std::erase_if(*reached,
                  [&](const LeaseView& lease) { return !has_reached(lease, wait.state); });
    if (reached->empty()) {
      session.fail(ExitCode::kFailed,
                   "all of them ended before one was " + std::string(to_text(wait.state)));
      return session.status();
    }
    reached->resize(1);
    print(to_text(reached->front().id) + "\n");
  }
  return status_of(*reached, wait.state);
}

}  // namespace

int run_wait(Invocation& invocation) {
  WaitOptions wait;
  invocation.about =
      "Waits for leases to end, and ends with the exit status of their command: 128 + n if signal "
      "n killed it, the first that is not 0 of several, 124 after --timeout. With --fit it waits "
      "until a request of that size would be granted at once; it holds no place in the queue.";
  invocation.examples = {{"berth wait 12 && ./evaluate.sh", "after lease 12, if it ended well"},
                         {"berth wait --fit 8G --notify", "until the GPU has room"}};
  declare(invocation, wait);
  if (const auto end = invocation.parse()) return *end;
  if (wait.fit.has_value() == !wait.words.empty()) {
    return invocation.usage_error("say either which leases, or --fit SIZE");
  }
  if (wait.any && wait.all) return invocation.usage_error("--any and --all exclude each other");
  if (wait.gpus && !wait.fit) return invocation.usage_error("-g goes with --fit only");
  const Result<DeviceChoice> choice = choice_of(wait.gpus);
  if (!choice.ok()) return invocation.usage_error(choice.error().message);

  if (!settings_of(invocation)) return to_status(ExitCode::kConfig);
  DaemonSession session(invocation);
  if (!session.open()) return session.status();
  Console console(invocation.terminal, Console::Volume::kNormal);
  return wait.fit ? wait_for_fit(wait, *choice, session, console)
                  : wait_for_leases(wait, session, console);
}

}  // namespace berth::cli
