// SPDX-License-Identifier: Apache-2.0
// Note [Bound of a log]: the oldest part of a log that has become too long is made a hole in the
// file. The file keeps its size and those who append to it or follow it their place in it, but the
// disk has the room again; so no process has to stand between a command and its log. A hole always
// begins at the beginning of the file and ends with a whole block, so that who reads skips it, and
// who has read what lies behind it has read no zeros.
#include "jobs/log_bound.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::jobs {
namespace {

constexpr std::int64_t kBlockLeast = 4096;
constexpr std::uint64_t kBlockUnit = 512;  // Of st_blocks.

}  // namespace

Status bound_log(const std::string& path, Bytes bound) {
  struct stat found{};
  if (bound.value == 0 || ::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) ||
      static_cast<std::uint64_t>(found.st_blocks) * kBlockUnit <= bound.value) {
    return Unit{};
  }
  const std::int64_t block = std::max<std::int64_t>(found.st_blksize, kBlockLeast);
  const std::int64_t cut = (found.st_size - static_cast<std::int64_t>(bound.value / 2)) / block;
  if (cut <= 0) return Unit{};
  const os::UniqueFd log(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (log &&
      ::fallocate(log.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, cut * block) == 0) {
    return Unit{};
  }
  return os::system_error("cannot cut " + path, errno);
}

std::int64_t first_left(int descriptor, std::int64_t from) {
  const off_t left = ::lseek(descriptor, from, SEEK_DATA);
  return left < from ? from : left;  // Not where the file system knows no holes.
}

}  // namespace berth::jobs
