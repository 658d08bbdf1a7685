// SPDX-License-Identifier: Apache-2.0
#include "server/notify_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "os/unique_fd.h"

namespace berth::server {

NotifySocket NotifySocket::of_environment() {
  const char* address = std::getenv("NOTIFY_SOCKET");
  return NotifySocket(address == nullptr ? "" : address);
}

void NotifySocket::ready(const std::string& status) const {
  send("READY=1\nSTATUS=" + status);
}

void NotifySocket::reloading() const {
  // Type=notify-reload compares this with the moment of its signal, on the same clock.
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t us = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us));
}

void NotifySocket::stopping() const {
  send("STOPPING=1");
}

void NotifySocket::alive() const {
  send("WATCHDOG=1");
}

void NotifySocket::send(const std::string& text) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (address_.empty() || address_.size() >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  const bool abstract = address_.front() == '@';
  if (abstract) to.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + address_.size() + (abstract ? 0U : 1U);
  const os::UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // Nobody can be told where this fails; the manager notices by its own deadline.
  if (!socket) return;
  (void)::sendto(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(size));
}

}  // namespace berth::server
