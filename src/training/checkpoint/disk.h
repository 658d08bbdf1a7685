// SPDX-License-Identifier: Apache-2.0
// The door to the disk for what writes checkpoints: each step of which a crash can come in between
// is a call here, so that a test can fail, tear or end at each of them. Reading does not go through
// it. Any thread; each call may block on the disk.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "os/unique_fd.h"

namespace berth::checkpoint {

class Disk {
 public:
  virtual ~Disk() = default;

  /// A file that must not be there yet, for writing.
  virtual Result<os::UniqueFd> make(const std::string& path) = 0;
  /// All of it, behind what was written. `path` is for messages.
  virtual Status write(const os::UniqueFd& file, const std::string& path,
                       std::span<const std::byte> bytes) = 0;
  virtual Status sync(const os::UniqueFd& file, const std::string& path) = 0;
  /// Over what is there.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status sync_directory(const std::string& path) = 0;
  virtual Status remove(const std::string& path) = 0;
  /// What an ordinary user could still write in this directory.
  virtual Result<Bytes> free_space(const std::string& directory) = 0;
};

class PosixDisk final : public Disk {
 public:
  Result<os::UniqueFd> make(const std::string& path) override;
  Status write(const os::UniqueFd& file, const std::string& path,
               std::span<const std::byte> bytes) override;
  Status sync(const os::UniqueFd& file, const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status sync_directory(const std::string& path) override;
  Status remove(const std::string& path) override;
  Result<Bytes> free_space(const std::string& directory) override;
};

}  // namespace berth::checkpoint
