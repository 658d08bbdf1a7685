// SPDX-License-Identifier: Apache-2.0
// berth-notify: shows the daemon's alerts as notifications of the desktop. A program of the user's,
// because a daemon reaches no session but its own. It ends with 69 where there is no session or
// nothing in it that shows notifications.
#include <array>
#include <csignal>
#include <utility>

#include "client/client.h"
#include "notify/notifier.h"
#include "os/places.h"

namespace berth::notify {
namespace {

int fail(const Error& error) {
  say(error.message);
  return static_cast<int>(client::exit_status_of(error));
}

int run(int count) {
  if (count > 1) {
    say("takes no arguments, and shows alerts until it is ended");
    return static_cast<int>(wire::ExitCode::kUsage);
  }
  auto signals = os::SignalDescriptor::open(std::array{SIGTERM, SIGINT, SIGHUP});
  if (!signals.ok()) return fail(signals.error());
  auto bus = SessionBus::open();
  if (!bus.ok()) return fail(bus.error());
  Notifier notifier(*std::move(bus), Follower(os::surroundings_from_environment(), &say),
                    *std::move(signals));
  const Status ended = notifier.run();
  return ended.ok() ? static_cast<int>(wire::ExitCode::kOk) : fail(ended.error());
}

}  // namespace
}  // namespace berth::notify

int main(int count, char** /*arguments*/) {
  return berth::notify::run(count);
}
