// SPDX-License-Identifier: Apache-2.0
// A disk on which things go wrong on command: the n-th call fails, or everything ends at the n-th
// byte or call as a kill or a power cut would have it. For tests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/disk.h"

namespace berth::checkpoint {

class FaultyDisk final : public Disk {
 public:
  enum class Fault : std::uint8_t {
    kFail,  // This call fails and nothing of it happens; the next ones succeed.
    kTear,  // Half of it happens, if it is a write, and it fails.
    kEnd,   // Half of it happens, and nothing happens any more: all calls fail.
    kLie,   // A write writes something else, and says that it went well.
  };
  /// The n-th call from now on, counted from 1; 0: none.
  void set_fault(std::uint64_t nth, Fault fault) {
    until_fault_ = nth;
    fault_ = fault;
    ended_ = false;
  }
  void set_free_space(Bytes bytes) { free_ = bytes; }
  /// Called with how many bytes were written in all so far, after each.
  void set_on_byte(std::function<void(std::uint64_t)> on_byte) { on_byte_ = std::move(on_byte); }
  /// What a power cut leaves where the file system has written nothing on its own: of files, what
  /// was synced; of names, those in synced directories.
  void cut_power();

  std::uint64_t calls() const { return calls_; }
  bool faulted() const { return faulted_; }

  Result<os::UniqueFd> make(const std::string& path) override;
  Status write(const os::UniqueFd& file, const std::string& path,
               std::span<const std::byte> bytes) override;
  Status sync(const os::UniqueFd& file, const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status sync_directory(const std::string& path) override;
  Status remove(const std::string& path) override;
  Result<Bytes> free_space(const std::string& directory) override;

 private:
  enum class Verdict : std::uint8_t { kGoOn, kFail, kHalf, kLie };
  Verdict judge();
  Status failed(const std::string& path) const;

  struct Rename {
    std::string from;
    std::string to;
    std::string before;  // What `to` held; empty: it was not there.
  };

  PosixDisk real_;
  std::uint64_t calls_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t until_fault_ = 0;
  Fault fault_ = Fault::kFail;
  bool faulted_ = false;
  bool ended_ = false;
  Bytes free_ = gib(1);
  std::function<void(std::uint64_t)> on_byte_;
  std::map<std::string, std::string> unsynced_;  // By path: what was written.
  std::vector<Rename> unsynced_renames_;
};

}  // namespace berth::checkpoint
