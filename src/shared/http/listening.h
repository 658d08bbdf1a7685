// SPDX-License-Identifier: Apache-2.0
// A server's Unix socket: handed over by a service manager, or made at a path. What lies there is
// replaced only if nobody answers at it. At start only; waits for nobody.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace berth::http {

/// What the errors call the server, and what a user can do who has two of them.
struct ServerWords {
  std::string_view name;
  std::string_view how_to_end;
};

class ListeningSocket {
 public:
  enum class Access : std::uint8_t { kOwner, kGroup };  // Whom the socket's mode lets in.

  /// kConflict, naming the other one, if a server answers there or holds the lock beside it, or if
  /// something lies there that is no socket; kInvalid if the path is too long.
  static Result<ListeningSocket> open(const std::string& path, Access access,
                                      const ServerWords& words);
  /// The one that LISTEN_FDS of the environment hands over to this process; absent: none.
  static Result<std::optional<ListeningSocket>> inherit();

  ListeningSocket(ListeningSocket&& other) noexcept;
  ListeningSocket& operator=(ListeningSocket&&) = delete;
  /// Takes away what open() made.
  ~ListeningSocket();

  os::UniqueFd take() { return std::move(socket_); }
  const std::string& path() const { return path_; }

 private:
  ListeningSocket(os::UniqueFd socket, std::string path, std::optional<os::FileLock> lock);

  os::UniqueFd socket_;
  std::string path_;
  std::optional<os::FileLock> lock_;  // Of a path that is ours.
};

}  // namespace berth::http
