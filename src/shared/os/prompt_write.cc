// SPDX-License-Identifier: Apache-2.0
#include "os/prompt_write.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace berth::os {
namespace {

// A kernel or a kind of file that does not know of writing without waiting: a terminal, and pipes
// before Linux 6.4. What can be written to takes as much as this, unless another process is
// quicker.
ssize_t write_where_there_is_room(int descriptor, std::string_view bytes) {
  return ::write(descriptor, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

ssize_t write_some(int descriptor, std::string_view bytes) {
  // A disk makes nobody wait for a reader.
  struct stat about{};
  if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) {
    return ::write(descriptor, bytes.data(), bytes.size());
  }
  pollfd room{.fd = descriptor, .events = POLLOUT, .revents = 0};
  if (::poll(&room, 1, 0) <= 0 || (room.revents & POLLOUT) == 0) return 0;
  const iovec piece{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  const ssize_t count = ::pwritev2(descriptor, &piece, 1, -1, RWF_NOWAIT);
  const bool unknown = count < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL);
  return unknown ? write_where_there_is_room(descriptor, bytes) : count;
}

}  // namespace

std::size_t write_promptly(int descriptor, std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = write_some(descriptor, bytes.substr(written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  return written;
}

}  // namespace berth::os
