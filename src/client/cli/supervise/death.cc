// SPDX-License-Identifier: Apache-2.0
#include "cli/supervise/death.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace berth::cli {
namespace {

void unblock(int signal) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

void die_of(int signal) {
  static_cast<void>(std::fflush(stdout));
  // A limit of 0 does not hold where cores are piped to a program; not being dumpable does.
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  unblock(signal);
  ::_exit(128 + signal);  // Of a signal that kills nobody.
}

void stop_as_by_terminal() {
  sigset_t before;
  ::sigprocmask(SIG_SETMASK, nullptr, &before);
  ::signal(SIGTSTP, SIG_DFL);
  ::raise(SIGTSTP);
  unblock(SIGTSTP);  // Here we stop.
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace berth::cli
