// SPDX-License-Identifier: Apache-2.0
// Processes as descriptors: opening, signalling, and the peer of a socket.
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/errors.h"
#include "os/processes.h"

namespace berth::os {
namespace {

constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD of Linux 6.5 and later; older headers lack it.

std::string named(std::int32_t pid) {
  return "process " + std::to_string(pid);
}

bool has_ended(const UniqueFd& pidfd) {
  pollfd ready{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) > 0;
}

// A descriptor for the process that has this pid now; the caller must know which one it wants.
Result<UniqueFd> pidfd_of(std::int32_t pid) {
  // The header of glibc 2.36 declares pidfd_open without C linkage: it cannot be linked from here.
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return system_error("cannot open a descriptor for " + named(pid), errno);
  return pidfd;
}

UniqueFd kernel_peer_pidfd(int socket) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (::getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &size) != 0) return UniqueFd();
  return UniqueFd(fd);
}

}  // namespace

Result<UniqueFd> open_pidfd(Process process) {
  if (process.pid <= 0) {
    return Error{Errc::kInvalid, std::to_string(process.pid) + " is not the pid of a process"};
  }
  TRY(pidfd, pidfd_of(process.pid));
  // The descriptor is taken first: whose start time is read after that is the one it stands for,
  // or the reading fails because that one has been reaped.
  TRY(state, process_state(process));
  if (state.ended) return Error{Errc::kNotFound, named(process.pid) + " has ended"};
  return pidfd;
}

Status send_signal(const UniqueFd& pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) != 0) {
    return system_error("cannot send signal " + std::to_string(signal), errno);
  }
  return Unit{};
}

Status send_signal(Process process, int signal) {
  TRY(pidfd, open_pidfd(process));
  return send_signal(pidfd, signal);
}

Result<Peer> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return system_error("cannot ask who connected", errno);
  }
  Peer peer;
  peer.user = {credentials.uid};
  peer.pid = credentials.pid;
  if (peer.pid <= 0) return peer;
  peer.pidfd = kernel_peer_pidfd(socket);
  peer.certain = static_cast<bool>(peer.pidfd);
  if (!peer.certain) {
    Result<UniqueFd> later = pidfd_of(peer.pid);
    if (!later.ok()) return peer;
    peer.pidfd = *std::move(later);
  }
  const Result<ProcessState> state = process_state(peer.pid);
  // If the descriptor's process has ended by now, the start time may be that of another one.
  if (!state.ok() || state->ended || has_ended(peer.pidfd)) {
    peer.pidfd = UniqueFd();
    return peer;
  }
  peer.process = state->process;
  return peer;
}

Status verify(const Peer& peer, Process claimed) {
  if (peer.pid <= 0) {
    return Error{
        Errc::kPermission,
        "this shell is in a PID namespace (a container?) that the daemon cannot see: start "
        "it in the daemon's (docker run --pid=host)"};
  }
  if (!peer.process) return Error{Errc::kNotFound, named(peer.pid) + " has ended"};
  if (*peer.process == claimed) return Unit{};
  return Error{Errc::kPermission,
               "this shell is in another PID namespace than the daemon (a container?): it calls "
               "itself " +
                   named(claimed.pid) + ", the daemon sees " + named(peer.process->pid) +
                   ". Start it in the daemon's (docker run --pid=host)"};
}

}  // namespace berth::os
