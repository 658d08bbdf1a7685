// SPDX-License-Identifier: Apache-2.0
#include "os/worker.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "os/errors.h"

namespace berth::os {

Result<Worker> Worker::start(std::function<void(const UniqueFd& far)> work) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return system_error("cannot make a socket pair", errno);
  }
  UniqueFd near(pair[0]);
  UniqueFd far(pair[1]);
  // Signals are for the one that starts it: a thread inherits the mask of its starter.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  CHECK(::pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  std::thread thread;
  int refused = 0;
  try {
    thread = std::thread([far = std::move(far), work = std::move(work)] { work(far); });
  } catch (const std::system_error& error) {
    refused = error.code().value();
  }
  CHECK(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  if (refused != 0) return system_error("cannot start a thread", refused);
  return Worker(std::move(near), std::move(thread));
}

Worker::~Worker() {
  finish();
}

void Worker::finish() {
  if (!thread_.joinable()) return;
  // The thread reads what was sent before it reads the end.
  ::shutdown(near_.get(), SHUT_WR);
  thread_.join();
}

}  // namespace berth::os
