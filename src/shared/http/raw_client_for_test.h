// SPDX-License-Identifier: Apache-2.0
// For tests: a client of a Unix socket that sends any bytes it likes, and a folder of its own that
// is gone with it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/check.h"
#include "os/unique_fd.h"

namespace berth::http {

class TestFolder {
 public:
  TestFolder() : path_("/tmp/berth-test-XXXXXX") { CHECK(::mkdtemp(path_.data()) != nullptr); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

inline os::UniqueFd listen_at(const std::string& path) {
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(socket.get() >= 0);
  const sockaddr_un address = address_of(path);
  CHECK(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(::listen(socket.get(), SOMAXCONN) == 0);
  return socket;
}

class RawClient {
 public:
  explicit RawClient(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = address_of(path);
    CHECK(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  }

  /// False: the other side does not take it.
  bool send(std::string_view text) {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(text.size());
  }
  void end_sending() { ::shutdown(socket_.get(), SHUT_WR); }
  void hang_up() { socket_ = os::UniqueFd(); }

  /// Takes what has come. False: the other side has closed.
  bool receive() {
    char buffer[65'536];
    while (true) {
      const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (count < 0) return errno == EAGAIN;
      if (count == 0) return false;
      received.append(buffer, static_cast<std::size_t>(count));
    }
  }

  /// Takes a few bytes of that at most.
  void receive_some() {
    char buffer[64];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) received.append(buffer, static_cast<std::size_t>(count));
  }

  std::string received;

 private:
  os::UniqueFd socket_;
};

}  // namespace berth::http
