// SPDX-License-Identifier: Apache-2.0
// By HTTP, without TLS.
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/result.h"
#include "cli/save/perform.h"
#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::cli {
namespace {

constexpr std::size_t kHeadMax = 16'384;

Result<os::UniqueFd> connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{Errc::kInvalid, path + " is too long for a socket"};
  }
  std::memcpy(&address.sun_path, path.data(), path.size());
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return os::system_error("cannot connect to " + path, errno);
  return socket;
}

Result<os::UniqueFd> connect_tcp(const std::string& host, const std::string& port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int trouble = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &list); trouble != 0) {
    return Error{Errc::kUnavailable, "cannot find " + host + ": " + ::gai_strerror(trouble)};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> found(list, &::freeaddrinfo);
  int number = ECONNREFUSED;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    os::UniqueFd socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket && ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    number = errno;
  }
  return os::system_error("cannot connect to " + host + ":" + port, number);
}

Status send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return os::system_error("cannot send the request", errno);
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return Unit{};
}

// The status of a line like "HTTP/1.1 200 OK"; 0 where it is none.
int status_of(std::string_view head) {
  const std::size_t blank = head.find(' ');
  if (!head.starts_with("HTTP/1.") || blank == std::string_view::npos) return 0;
  const std::string_view digits = head.substr(blank + 1, 3);
  if (digits.size() < 3) return 0;
  int status = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

// Answers that only say that one will come are passed over.
Result<int> read_status(int socket) {
  std::string text;
  while (true) {
    for (std::size_t end = text.find("\r\n\r\n"); end != std::string::npos;
         end = text.find("\r\n\r\n")) {
      const int status = status_of(text);
      if (status >= 200) return status;
      if (status == 0) return Error{Errc::kCorrupt, "what answered does not speak HTTP"};
      text.erase(0, end + 4);
    }
    if (text.size() > kHeadMax) return Error{Errc::kFull, "its answer has too long a head"};
    std::array<char, 4'096> bytes;
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os::system_error("cannot read the answer", errno);
    if (got == 0) return Error{Errc::kUnavailable, "it hung up without an answer"};
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

Result<int> post(const HttpWay& way, CheckpointReason reason) {
  TRY(socket, way.socket.empty() ? connect_tcp(way.host, way.port) : connect_unix(way.socket));
  const bool is_v6 = way.host.find(':') != std::string::npos;
  std::string host = way.socket.empty() ? way.host : "localhost";
  if (is_v6) host = "[" + host + "]";
  if (way.socket.empty() && way.port != "80") host += ":" + way.port;
  const std::string request = "POST " + way.target + " HTTP/1.1\r\nHost: " + host +
                              "\r\nUser-Agent: berth/" BERTH_VERSION "\r\nBerth-Checkpoint: " +
                              std::string(to_text(reason)) +
                              "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  TRY_STATUS(send_all(socket.get(), request));
  return read_status(socket.get());
}

}  // namespace

Performed perform(const HttpWay& way, CheckpointReason reason) {
  const Result<int> status = post(way, reason);
  if (!status.ok())
    return {.outcome = CheckpointOutcome::kFailed, .detail = status.error().message};
  const std::string detail = "answered " + std::to_string(*status);
  if (*status == 202) {
    return {.outcome = CheckpointOutcome::kUnconfirmed, .detail = detail + ": a promise, no save"};
  }
  const bool saved = *status < 300;
  return {.outcome = saved ? CheckpointOutcome::kSaved : CheckpointOutcome::kFailed,
          .detail = detail};
}

}  // namespace berth::cli
