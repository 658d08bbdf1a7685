// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/json_writer.h"
#include "base/number.h"

namespace berth::trainer {
namespace {

constexpr int kWaiting = 8;
constexpr std::size_t kRequestMax = 8192;
constexpr timeval kPatience = {.tv_sec = 1, .tv_usec = 0};

Error cannot(std::string_view address, const char* what) {
  return {Errc::kUnavailable,
          std::string(address) + ": cannot " + what + ": " + std::strerror(errno)};
}

std::optional<sockaddr_in> parse(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string host(address.substr(0, colon));
  const auto number = parse_number<std::uint16_t>(address.substr(colon + 1));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  const bool is_right = number && inet_pton(AF_INET, host.c_str(), &place.sin_addr) == 1;
  if (!is_right || (ntohl(place.sin_addr.s_addr) >> 24) != 127) return std::nullopt;
  place.sin_port = htons(*number);
  return place;
}

void send_answer(const os::UniqueFd& connection, std::string_view status, const std::string& body) {
  std::string text = "HTTP/1.1 ";
  text.append(status).append("\r\nContent-Type: application/json\r\nContent-Length: ");
  text.append(std::to_string(body.size())).append("\r\nConnection: close\r\n\r\n").append(body);
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t sent = send(connection.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // They have gone; what they asked for was done.
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// The first line of the request, once its head is whole; empty if it does not come.
std::string first_line(const os::UniqueFd& connection) {
  std::string head;
  std::array<char, 1024> part{};
  while (head.find("\r\n\r\n") == std::string::npos && head.size() < kRequestMax) {
    const ssize_t got = recv(connection.get(), part.data(), part.size(), 0);
    if (got <= 0) return {};
    head.append(part.data(), static_cast<std::size_t>(got));
  }
  return head.substr(0, head.find("\r\n"));
}

std::string line_of(std::string_view key, std::string_view text) {
  return JsonWriter().begin_object().key(key).text(text).end_object().take() + "\n";
}

std::string problem(std::string_view text) {
  return line_of("error", text);
}

}  // namespace

Result<CheckpointPort> CheckpointPort::open(std::string_view address) {
  const auto place = parse(address);
  if (!place) {
    return Error{Errc::kInvalid, "'" + std::string(address) +
                                     "' is no address of this machine's own (127.0.0.1:PORT)"};
  }
  os::UniqueFd listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening) return cannot(address, "make a socket");
  const int yes = 1;
  setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in bound = *place;
  socklen_t size = sizeof bound;
  auto* general = reinterpret_cast<sockaddr*>(&bound);
  if (bind(listening.get(), general, size) != 0 || ::listen(listening.get(), kWaiting) != 0 ||
      getsockname(listening.get(), general, &size) != 0) {
    return cannot(address, "listen");
  }
  return CheckpointPort(std::move(listening), ntohs(bound.sin_port));
}

std::optional<CheckpointPort::Caller> CheckpointPort::poll() {
  os::UniqueFd connection(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return std::nullopt;
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const std::string line = first_line(connection);
  if (line.starts_with("POST /checkpoint ")) return Caller(std::move(connection));
  if (line.starts_with("POST ")) {
    send_answer(connection, "404 Not Found", problem("POST /checkpoint is all there is"));
  } else {
    send_answer(connection, "405 Method Not Allowed", problem("POST /checkpoint is all there is"));
  }
  return std::nullopt;
}

void CheckpointPort::Caller::answer(const Result<std::string>& saved) {
  if (saved.ok()) {
    send_answer(connection_, "200 OK", line_of("path", *saved));
  } else {
    send_answer(connection_, "503 Service Unavailable", problem(saved.error().message));
  }
}

}  // namespace berth::trainer
