// SPDX-License-Identifier: Apache-2.0
// Signals on behalf of a user: what they may reach themselves, and nothing beyond.
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "os/processes.h"

namespace berth::os {
namespace {

constexpr int kNamespacesMax = 32;  // As deep as Linux nests them.

ino_t inode_of(const UniqueFd& file) {
  struct stat found{};
  return ::fstat(file.get(), &found) == 0 ? found.st_ino : 0;
}

/// The user who made a user namespace may do all in it: so users reach what runs in their
/// containers, under whichever uid. False where that cannot be told.
bool runs_in_namespace_of(UserId user, std::int32_t pid) {
  struct stat own{};
  if (::stat("/proc/self/ns/user", &own) != 0) return false;
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/user";
  UniqueFd at(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (int depth = 0; at && depth < kNamespacesMax && inode_of(at) != own.st_ino; ++depth) {
    uid_t owner = 0;
    if (::ioctl(at.get(), NS_GET_OWNER_UID, &owner) != 0) return false;
    UniqueFd parent(::ioctl(at.get(), NS_GET_PARENT));
    if (parent && inode_of(parent) == own.st_ino) return owner == user.value;
    at = std::move(parent);
  }
  return false;
}

}  // namespace

bool may_signal(UserId user, const UserIds& ids) {
  return user == UserId{0} || ids.real == user || ids.saved == user;
}

Status check_may_signal(UserId user, Process process) {
  TRY(ids, user_ids(process));
  if (may_signal(user, ids) || runs_in_namespace_of(user, process.pid)) return Unit{};
  return Error{Errc::kPermission, "process " + std::to_string(process.pid) + " belongs to uid " +
                                      std::to_string(ids.real.value) + ", not to uid " +
                                      std::to_string(user.value) + ", and is left alone"};
}

// What was read of the process is about the one that the descriptor stands for, if that one still
// lives: the start time was read after the ids, and the descriptor was there before both.
Status send_signal_for(UserId user, const UniqueFd& pidfd, Process process, int signal) {
  TRY_STATUS(check_may_signal(user, process));
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, 0) > 0) {
    return Error{Errc::kNotFound, "process " + std::to_string(process.pid) + " has ended"};
  }
  return send_signal(pidfd, signal);
}

Status send_signal_for(UserId user, Process process, int signal) {
  TRY(pidfd, open_pidfd(process));
  return send_signal_for(user, pidfd, process, signal);
}

}  // namespace berth::os
