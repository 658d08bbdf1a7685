// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "os/errors.h"

namespace berth::os {

Result<SignalDescriptor> SignalDescriptor::open(std::span<const int> signals) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  for (const int signal : signals) CHECK(sigaddset(&set, signal) == 0);
  CHECK(::pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
  UniqueFd fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) return system_error("cannot make a descriptor for signals", errno);
  return SignalDescriptor(std::move(fd), before);
}

std::optional<SignalSeen> SignalDescriptor::read() {
  signalfd_siginfo seen{};
  if (::read(fd_.get(), &seen, sizeof seen) != sizeof seen) return std::nullopt;
  const bool from_process =
      seen.ssi_code == SI_USER || seen.ssi_code == SI_TKILL || seen.ssi_code == SI_QUEUE;
  return SignalSeen{.signal = static_cast<std::int32_t>(seen.ssi_signo),
                    .sender_pid = static_cast<std::int32_t>(seen.ssi_pid),
                    .sender = {seen.ssi_uid},
                    .from_process = from_process};
}

}  // namespace berth::os
