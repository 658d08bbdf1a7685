// SPDX-License-Identifier: Apache-2.0
#include "client/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "os/clock.h"
#include "os/errors.h"
#include "os/paths.h"
#include "os/processes.h"
#include "os/random.h"
#include "os/users.h"

namespace berth::client {
namespace {

constexpr const char* kDaemonUser = "berth";

Status limit_sending(int socket) {
  const timeval within{.tv_sec = kConnectWithin.ns / seconds(1).ns, .tv_usec = 0};
  if (::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &within, sizeof within) == 0) return Unit{};
  return os::system_error("cannot set a time limit on a socket", errno);
}

Error cannot_connect(const std::string& path, int number) {
  const std::string what = "cannot connect to " + path;
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return {Errc::kNotFound, "there is no socket " + path};
    case ECONNREFUSED:
      return {Errc::kUnavailable, "nobody listens at " + path};
    case EAGAIN:
      return {Errc::kTimedOut, what + ": the daemon takes no more connections; try again"};
    case EACCES:
    case EPERM:
      return {Errc::kPermission, what + ": only root and the members of its group may"};
    default:
      return os::system_error(what, number);
  }
}

// A user who can put a socket at a place where we look could otherwise play the daemon.
Status check_listener(int socket, const std::string& path) {
  TRY(peer, os::peer_of(socket));
  if (peer.user == UserId{0} || peer.user == os::own_user()) return Unit{};
  if (peer.user == os::find_user(kDaemonUser)) return Unit{};
  return Error{Errc::kPermission, "the daemon at " + path + " is run by " +
                                      os::user_name(peer.user) +
                                      ", who is neither you nor root nor " + kDaemonUser};
}

}  // namespace

Result<os::UniqueFd> connect_to(const std::string& path, Backlog backlog) {
  TRY_STATUS(os::check_socket_path(path));
  const int waits = backlog == Backlog::kGiveUp ? SOCK_NONBLOCK : 0;
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | waits, 0));
  if (!socket) return os::system_error("cannot make a socket", errno);
  TRY_STATUS(limit_sending(socket.get()));

  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  int failed = 0;
  do {
    // A blocking connect waits while the listener's backlog is full.
    failed = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return cannot_connect(path, errno);
  TRY_STATUS(check_listener(socket.get(), path));
  if (::fcntl(socket.get(), F_SETFL, 0) != 0) {
    return os::system_error("cannot set the flags of a socket", errno);
  }
  return socket;
}

Result<os::UniqueFd> connect_patiently(const std::string& path) {
  const os::PosixClock clock;
  const Instant until = clock.now() + kConnectWithin;
  while (true) {
    Result<os::UniqueFd> socket = connect_to(path);
    if (socket.ok()) return socket;
    const Errc code = socket.error().code;
    const bool may_come = code == Errc::kNotFound || code == Errc::kUnavailable;
    const Duration pause = reconnect_pause();
    if (!may_come || clock.now() + pause > until) return socket;
    ::poll(nullptr, 0, static_cast<int>(pause.ns / milliseconds(1).ns));
  }
}

Duration reconnect_pause() {
  return milliseconds(20 + static_cast<std::int64_t>(os::random_number() % 1'000));
}

}  // namespace berth::client
