// SPDX-License-Identifier: Apache-2.0
#include "http.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "world.h"

namespace berth::e2e {

Http::Http(const std::filesystem::path& socket)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
  close(fd_);
  fd_ = -1;
}

Http::Http(Http&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

Http::~Http() {
  if (fd_ >= 0) close(fd_);
}

bool Http::send(std::string_view bytes) {
  return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::size_t Http::send_some(std::string_view bytes) {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

bool Http::has_something() {
  pollfd wanted{fd_, POLLIN, 0};
  return poll(&wanted, 1, 0) > 0;
}

bool Http::read_some() {
  pollfd wanted{fd_, POLLIN, 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
  if (poll(&wanted, 1, static_cast<int>(patience.count())) <= 0) return false;
  std::array<char, 65'536> buffer;
  const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  received_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

bool Http::receives(std::string_view text) {
  while (received_.find(text) == std::string::npos) {
    if (!read_some()) return false;
  }
  return true;
}

bool Http::closed() {
  char byte = 0;
  return recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

Reply Http::get(const std::string& target) {
  return exchange("GET " + target + " HTTP/1.1\r\nHost: berth\r\n\r\n");
}

Reply Http::post(const std::string& target, const nlohmann::json& body) {
  const std::string text = body.dump();
  return exchange("POST " + target + " HTTP/1.1\r\nHost: berth\r\nContent-Length: " +
                  std::to_string(text.size()) + "\r\n\r\n" + text);
}

Reply Http::exchange(const std::string& request) {
  received_.clear();
  constexpr std::string_view kLength = "Content-Length: ";
  if (!send(request) || !receives("\r\n\r\n")) return {};
  const char* code = received_.c_str() + std::strlen("HTTP/1.1 ");
  Reply reply{.status = static_cast<int>(std::strtol(code, nullptr, 10))};
  const std::size_t begin = received_.find("\r\n\r\n") + 4;
  const std::size_t length_at = received_.find(kLength);
  if (length_at == std::string::npos) return reply;
  const auto length = std::strtoul(received_.c_str() + length_at + kLength.size(), nullptr, 10);
  while (received_.size() < begin + length) {
    if (!read_some()) return {};
  }
  reply.body = received_.substr(begin, length);
  return reply;
}

}  // namespace berth::e2e
