// SPDX-License-Identifier: Apache-2.0
// Plan files that their user has looked at: a copy of each, by its path. A plan names commands, so
// it is used only as it was when it was trusted. Any thread; blocks on the disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/plan/plan_file.h"
#include "os/paths.h"

namespace berth::cli {

class TrustedPlans {
 public:
  /// Of this user and machine. Nothing is made.
  static Result<TrustedPlans> find(const os::Environment& env);
  explicit TrustedPlans(std::string folder) : folder_(std::move(folder)) {}

  /// As it was trusted; absent: it never was.
  Result<std::optional<std::string>> content(const std::string& path) const;
  Status trust(const std::string& path, const std::string& content) const;

 private:
  std::string file_of(const std::string& path) const;

  std::string folder_;
};

struct PlanText {
  std::string path;  // Absolute, without links.
  std::string directory;
  std::string content;
};
/// kPermission unless it is the user's or root's, and writable for nobody else.
Result<PlanText> read_plan(const std::string& file);

/// The lines of both that differ, with "-" and "+" before them.
std::string difference(std::string_view before, std::string_view after);

}  // namespace berth::cli
