// SPDX-License-Identifier: Apache-2.0
// berth-notify: shows the daemon's alerts as notifications of the desktop. A program of the user's,
// because a daemon reaches no session but its own. It ends with 69 where there is no session or
// nothing in it that shows notifications.
#include <array>
#include <csignal>
#include <string_view>
#include <utility>

#include "client/client.h"
#include "notify/notifier.h"
#include "os/paths.h"

namespace berth::notify {
namespace {

int fail(const Error& error) {
  say(error.message);
  return static_cast<int>(client::exit_status_of(error));
}

// `--with-daemon` is how `berth run` starts it: for rules that are to be shown on the desktop, once
// in a session, and for as long as there is a daemon.
int run(int count, char** arguments) {
  const bool bounded = count == 2 && std::string_view(arguments[1]) == "--with-daemon";
  if (count > 1 && !bounded) {
    say("takes no arguments, and shows alerts until it is ended");
    return static_cast<int>(wire::ExitCode::kUsage);
  }
  auto signals = os::SignalDescriptor::open(std::array{SIGTERM, SIGINT, SIGHUP});
  if (!signals.ok()) return fail(signals.error());
  auto bus = SessionBus::open();
  if (!bus.ok()) return fail(bus.error());
  const auto has_place = bus->take_place(bounded);
  if (!has_place.ok()) return fail(has_place.error());
  if (!*has_place) return static_cast<int>(wire::ExitCode::kOk);
  using Bounds = Follower::Bounds;
  Follower follower(os::read_environment(), &say, bounded ? Bounds::kDaemon : Bounds::kNone);
  Notifier notifier(*std::move(bus), std::move(follower), *std::move(signals));
  const Status ended = notifier.run();
  return ended.ok() ? static_cast<int>(wire::ExitCode::kOk) : fail(ended.error());
}

}  // namespace
}  // namespace berth::notify

int main(int count, char** arguments) {
  return berth::notify::run(count, arguments);
}
