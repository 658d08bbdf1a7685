// SPDX-License-Identifier: Apache-2.0
#include "http/listening.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "os/errors.h"
#include "os/paths.h"
#include "os/users.h"

namespace berth::http {
namespace {

constexpr int kFirstInherited = 3;  // SD_LISTEN_FDS_START

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

os::UniqueFd new_socket() {
  return os::UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Takes away a socket at which nobody listens any more.
Status clear(const std::string& path, const ServerWords& words) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return Unit{};
    return os::system_error("cannot stat " + path, errno);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return Error{Errc::kConflict, path + " is there and is no socket: remove it, or choose " +
                                      "another path (--socket)"};
  }
  const os::UniqueFd probe = new_socket();
  const sockaddr_un address = address_of(path);
  // A full backlog (EAGAIN) has a listener, too.
  if (::connect(probe.get(), generic(address), sizeof address) == 0 || errno == EAGAIN) {
    return Error{Errc::kConflict, "another " + std::string(words.name) + " answers at " + path +
                                      ": " + std::string(words.how_to_end) +
                                      ", or choose another path (--socket)"};
  }
  if (errno != ECONNREFUSED) return os::system_error("cannot look who is at " + path, errno);
  if (::unlink(path.c_str()) != 0) return os::system_error("cannot remove " + path, errno);
  return Unit{};
}

/// In system mode the members of the group are let in; the socket tells the daemon who they are.
void give_to_group(const std::string& path) {
  const auto group = os::find_group("berth");
  if (group && *group != ::getegid()) {
    // Where that is not allowed, the group is the daemon's own.
    if (::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) return;
  }
}

}  // namespace

Result<ListeningSocket> ListeningSocket::open(const std::string& path, Access access,
                                              const ServerWords& words) {
  TRY_STATUS(os::check_socket_path(path));
  Result<os::FileLock> lock = os::FileLock::take(path + ".lock");
  if (!lock.ok()) {
    if (lock.error().code != Errc::kConflict) return lock.error();
    return Error{Errc::kConflict, "another " + std::string(words.name) + " has the socket " + path +
                                      " (" + lock.error().message +
                                      "): " + std::string(words.how_to_end) +
                                      ", or choose another path (--socket)"};
  }
  TRY_STATUS(clear(path, words));
  os::UniqueFd socket = new_socket();
  if (!socket) return os::system_error("cannot make a socket", errno);
  const sockaddr_un address = address_of(path);
  const mode_t before = ::umask(access == Access::kOwner ? 0177 : 0117);
  const bool bound = ::bind(socket.get(), generic(address), sizeof address) == 0;
  const int error = errno;
  ::umask(before);
  if (!bound) return os::system_error("cannot make the socket " + path, error);
  if (access == Access::kGroup) give_to_group(path);
  // The kernel bounds the backlog by net.core.somaxconn.
  if (::listen(socket.get(), std::numeric_limits<int>::max()) != 0) {
    return os::system_error("cannot listen at " + path, errno);
  }
  return ListeningSocket(std::move(socket), path, *std::move(lock));
}

Result<std::optional<ListeningSocket>> ListeningSocket::inherit() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  const bool for_us = pid != nullptr && count != nullptr && std::to_string(::getpid()) == pid;
  if (!for_us) return std::optional<ListeningSocket>();
  if (std::string_view(count) != "1") {
    return Error{Errc::kInvalid,
                 std::string("LISTEN_FDS=") + count + ": berthd takes exactly one socket"};
  }
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  os::UniqueFd socket(kFirstInherited);
  sockaddr_un address{};
  socklen_t size = sizeof address;
  int listens = 0;
  socklen_t listens_size = sizeof listens;
  const bool good =
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
      address.sun_family == AF_UNIX &&
      ::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) == 0 &&
      listens != 0;
  if (!good) {
    return Error{Errc::kInvalid, "LISTEN_FDS: descriptor 3 is no Unix socket that listens"};
  }
  (void)::fcntl(socket.get(), F_SETFD, FD_CLOEXEC);
  return std::optional(ListeningSocket(std::move(socket), address.sun_path, std::nullopt));
}

ListeningSocket::ListeningSocket(os::UniqueFd socket, std::string path,
                                 std::optional<os::FileLock> lock)
    : socket_(std::move(socket)), path_(std::move(path)), lock_(std::move(lock)) {}

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : socket_(std::move(other.socket_)),
      path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, std::nullopt)) {}

ListeningSocket::~ListeningSocket() {
  // Under the lock, nobody else can have put a socket there.
  if (lock_) ::unlink(path_.c_str());
}

}  // namespace berth::http
