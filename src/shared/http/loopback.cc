// SPDX-License-Identifier: Apache-2.0
#include "http/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "base/ids.h"
#include "base/letters.h"
#include "os/errors.h"
#include "os/files.h"
#include "os/random.h"

namespace berth::http {
namespace {

constexpr std::size_t kSecretMin = 32;
constexpr std::size_t kSecretMax = 256;

}  // namespace

Result<LoopbackSocket> listen_on_loopback(std::uint16_t port) {
  os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return os::system_error("cannot make a socket", errno);
  // A port whose last server has just ended is free.
  const int on = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const std::string name = "port " + std::to_string(port) + " of 127.0.0.1";
  if (::bind(socket.get(), generic, sizeof address) != 0) {
    if (errno != EADDRINUSE) return os::system_error("cannot have " + name, errno);
    return Error{Errc::kUnavailable,
                 "another program has " + name + ": choose another, or 0 for one that is free"};
  }
  socklen_t size = sizeof address;
  if (::listen(socket.get(), std::numeric_limits<int>::max()) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    return os::system_error("cannot listen at " + name, errno);
  }
  return LoopbackSocket{std::move(socket), ntohs(address.sin_port)};
}

std::string new_secret() {
  const auto half = [] { return to_text(os::random_handle()).substr(2); };
  return half() + half();
}

Result<std::string> secret_in(const std::string& path) {
  TRY(lock, os::FileLock::wait(path + ".lock"));
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    TRY_STATUS(os::write_file_atomically(path, new_secret() + "\n", 0600, os::Sync::kNone));
  }
  TRY(text, os::read_private_file(path, kSecretMax));
  if (text.ends_with('\n')) text.pop_back();
  if (text.size() < kSecretMin || !is_bare_word(text)) {
    return Error{Errc::kInvalid, path + " holds no secret of " + std::to_string(kSecretMin) +
                                     " letters and digits: remove it, and a new one is made"};
  }
  return text;
}

}  // namespace berth::http
