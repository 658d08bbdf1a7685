// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/trusted.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/fnv1a.h"
#include "cli/render/text.h"
#include "os/files.h"

namespace berth::cli {
namespace {

constexpr unsigned kPrivate = 0600;
constexpr std::size_t kPathMax = 4'096;

}  // namespace

Result<TrustedPlans> TrustedPlans::find(const os::Environment& env) {
  TRY(paths, os::paths_of(env, os::Mode::kUser, ""));
  return TrustedPlans(paths.state_dir + "/trusted");
}

std::string TrustedPlans::file_of(const std::string& path) const {
  return folder_ + "/" + std::to_string(fnv1a(path));
}

// The path stands in its first line: two paths may have one hash.
Result<std::optional<std::string>> TrustedPlans::content(const std::string& path) const {
  const Result<std::string> text =
      os::read_private_file(file_of(path), kPlanFileMax + kPathMax + 1);
  if (!text.ok()) {
    if (text.error().code != Errc::kNotFound) return text.error();
    return std::optional<std::string>();
  }
  if (!text->starts_with(path + "\n")) return std::optional<std::string>();
  return std::optional(text->substr(path.size() + 1));
}

Status TrustedPlans::trust(const std::string& path, const std::string& content) const {
  TRY_STATUS(os::make_private_directory(folder_));
  return os::write_file_atomically(file_of(path), path + "\n" + content, kPrivate,
                                   os::Sync::kPowerCut);
}

Result<PlanText> read_plan(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file, error);
  if (error) {
    return Error{Errc::kNotFound, file +
                                      ": there is no such file; it holds the plan of a "
                                      "project, one section [session.NAME] for each command"};
  }
  if (path.string().size() > kPathMax || path.string().find('\n') != std::string::npos) {
    return Error{Errc::kInvalid, "the path of the plan is too long, or has a line break in it"};
  }
  TRY(content, os::read_trusted_file(path, kPlanFileMax));
  return PlanText{.path = path, .directory = path.parent_path(), .content = std::move(content)};
}

std::string difference(std::string_view before, std::string_view after) {
  const std::vector<std::string> old_lines = lines_of(before);
  const std::vector<std::string> new_lines = lines_of(after);
  const std::size_t least = std::min(old_lines.size(), new_lines.size());
  std::size_t same = 0;
  while (same < least && old_lines[same] == new_lines[same]) ++same;
  std::size_t tail = 0;
  while (tail < least - same &&
         old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail]) {
    ++tail;
  }
  std::string text;
  for (std::size_t i = same; i < old_lines.size() - tail; ++i) {
    text.append("- ").append(old_lines[i]).append("\n");
  }
  for (std::size_t i = same; i < new_lines.size() - tail; ++i) {
    text.append("+ ").append(new_lines[i]).append("\n");
  }
  return text;
}

}  // namespace berth::cli
