// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "os/errors.h"
#include "os/files.h"

namespace berth::checkpoint {
namespace {

// The kernel is told to begin with each of these at once: left alone it gathers a good part of the
// memory before it writes anything, and the sync at the end waits for all of it.
constexpr std::size_t kPieceBytes = std::size_t{8} << 20U;

Status write_piece(int file, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::system_error("cannot write " + path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return Unit{};
}

}  // namespace

Result<os::UniqueFd> PosixDisk::make(const std::string& path) {
  os::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return os::system_error("cannot make " + path, errno);
  return file;
}

Status PosixDisk::write(const os::UniqueFd& file, const std::string& path,
                        std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    TRY_STATUS(write_piece(file.get(), path, piece));
    if (piece.size() == kPieceBytes) {
      // A hint: what it cannot do here, the sync does.
      const off_t end = ::lseek(file.get(), 0, SEEK_CUR);
      const auto length = static_cast<off_t>(kPieceBytes);
      (void)::sync_file_range(file.get(), end - length, length, SYNC_FILE_RANGE_WRITE);
    }
    bytes = bytes.subspan(piece.size());
  }
  return Unit{};
}

Status PosixDisk::sync(const os::UniqueFd& file, const std::string& path) {
  if (::fsync(file.get()) != 0) return os::system_error("cannot sync " + path, errno);
  return Unit{};
}

Status PosixDisk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return os::system_error("cannot rename " + from + " to " + to, errno);
  }
  return Unit{};
}

Status PosixDisk::sync_directory(const std::string& path) {
  return os::sync_file(path);
}

Status PosixDisk::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return os::system_error("cannot remove " + path, errno);
  return Unit{};
}

Result<Bytes> PosixDisk::free_space(const std::string& directory) {
  return os::free_space(directory);
}

}  // namespace berth::checkpoint
