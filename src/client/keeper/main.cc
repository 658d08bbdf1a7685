// SPDX-License-Identifier: Apache-2.0
// berth-keeper: starts a user's jobs when it is their turn. A program of the user's, because a
// daemon runs no command of anybody. One is enough: a second one ends at once with 0.
#include <sys/prctl.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <utility>

#include "client/client.h"
#include "keeper/keeper.h"
#include "os/files.h"
#include "os/paths.h"
#include "os/programs.h"

namespace berth::keeper {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "berth-keeper: %s\n", error.message.c_str());
  return static_cast<int>(client::exit_status_of(error));
}

int run(int count) {
  if (count > 1) {
    static_cast<void>(
        fail({Errc::kInvalid, "takes no arguments, and keeps jobs until it is ended"}));
    return static_cast<int>(wire::ExitCode::kUsage);
  }
  // What it reads is its user's environment: no dump of it, and nothing for a debugger.
  ::prctl(PR_SET_DUMPABLE, 0);
  const os::Environment env = os::read_environment();
  auto folder = jobs::JobFolder::find(env);
  if (!folder.ok()) return fail(folder.error());
  if (const Status made = folder->make(); !made.ok()) return fail(made.error());
  const auto lock = os::FileLock::take(folder->lock());
  if (!lock.ok() && lock.error().code == Errc::kConflict) return 0;
  if (!lock.ok()) return fail(lock.error());
  auto signals = os::SignalDescriptor::open(std::array{SIGTERM, SIGINT, SIGHUP});
  if (!signals.ok()) return fail(signals.error());
  auto wake = folder->listen();
  if (!wake.ok()) return fail(wake.error());
  auto program = os::sibling_program("berth");
  if (!program.ok()) return fail(program.error());
  Keeper keeper(*std::move(folder), {.client = {.env = env, .version = BERTH_VERSION},
                                     .signals = *std::move(signals),
                                     .wake = *std::move(wake),
                                     .program = *std::move(program)});
  keeper.run();
  return 0;
}

}  // namespace
}  // namespace berth::keeper

int main(int count, char**) {
  return berth::keeper::run(count);
}
