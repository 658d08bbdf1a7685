// SPDX-License-Identifier: Apache-2.0
// The file of rules that `berth alert` writes: a part of the configuration like any other, so that
// users who may write that may add rules, and nobody else. Blocks on the disk.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "config/config.h"
#include "config/load.h"
#include "os/files.h"
#include "os/paths.h"

namespace berth::cli {

class AlertFile {
 public:
  /// Reads the configuration of a daemon of this mode, as it lies on the disk; waits while another
  /// one has it open.
  static Result<AlertFile> open(const os::Environment& env, os::Mode mode, UserId daemon);

  const std::string& path() const { return path_; }
  /// What holds with it as it is now; problems are told as one text.
  Result<config::Config> load() const;
  /// Where a rule is set, as "config.toml:3"; absent: nowhere else than here or built in.
  std::optional<std::string> set_elsewhere(const std::string& rule) const;

  bool has(const std::string& rule) const;
  /// All may read the machine's rules: the URL of its webhook goes to a file for the daemon alone.
  Status put(const std::string& rule, config::AlertRule what);
  /// False: its lines are not as they were written here.
  bool take_out(const std::string& rule);
  void switch_off(const std::string& rule);

  Status write() const;
  /// When what was written holds: the URL of a rule that was taken out.
  void forget_old_webhook() const;
  /// As it was when it was opened.
  Status put_back() const;

 private:
  Status write(const std::string& text) const;

  explicit AlertFile(os::FileLock lock) : lock_(std::move(lock)) {}

  std::string webhook_file_of(const std::string& rule) const;

  os::FileLock lock_;    // Of two that write at a time one would be forgotten.
  config::Input input_;  // Without this file.
  config::File::Kind kind_ = config::File::Kind::kUser;
  std::string path_;
  std::string before_;
  std::string text_;
  bool was_there_ = false;
  UserId daemon_;
  std::string new_webhook_file_;
  std::string old_webhook_file_;  // Of a rule that was taken out.
};

}  // namespace berth::cli
