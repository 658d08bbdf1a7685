// SPDX-License-Identifier: Apache-2.0
// Note [Where a job's output goes]: to N.log in the job's folder, or to a file that its user named
// with --log. That name is kept as it was typed and filled in when an attempt starts; the file is
// opened by the starter, between fork and exec, so that a file system that hangs holds up that job
// alone. The starter writes into N.status at what size it found the file: attempts that share one
// are appended to it. Until then, and where the file cannot be opened, N.log is the log.
#include "jobs/named_log.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "os/errors.h"

namespace berth::jobs {
namespace {

Error wrong(const std::string& sentence) {
  return {Errc::kInvalid, "--log: " + sentence};
}

/// Characters that stand for themselves, and sequences: '%' and what comes after it, if anything.
std::vector<std::string_view> pieces_of(std::string_view wanted) {
  std::vector<std::string_view> pieces;
  while (!wanted.empty()) {
    pieces.push_back(wanted.substr(0, wanted.front() == '%' ? 2 : 1));
    wanted.remove_prefix(pieces.back().size());
  }
  return pieces;
}

}  // namespace

Status check_log_name(std::string_view wanted, Naming naming) {
  const std::string shown = "'" + std::string(wanted) + "'";
  if (wanted.empty() || wanted.ends_with('/')) return wrong(shown + " is no name of a file");
  std::optional<std::string> unknown;
  bool has_number = false;
  bool is_filled = false;
  bool in_directory = false;
  for (const std::string_view piece : pieces_of(wanted)) {
    in_directory = in_directory || (piece == "/" && is_filled);
    const bool is_variable = piece == "%j" || piece == "%a";
    is_filled = is_filled || is_variable;
    has_number = has_number || piece == "%j";
    if (piece.starts_with('%') && piece != "%%" && !is_variable && !unknown) unknown = piece;
  }
  if (unknown) {
    return wrong("'" + *unknown + "' in " + shown +
                 " means nothing: there are %j, the job's number, %a, that of the attempt, and %%");
  }
  if (in_directory) {
    return wrong(shown + ": %j and %a are for the name of the file, not for its directory");
  }
  if (naming == Naming::kSet && !has_number) {
    return wrong(shown +
                 " would be the log of each member of the set: put %j in it, which is "
                 "17.3 for member 3 of set 17");
  }
  return Unit{};
}

std::string named_log(std::string_view wanted, const std::string& directory, std::string_view job,
                      std::uint32_t attempt) {
  std::string path = wanted.starts_with('/') ? "" : directory;
  if (!path.empty() && !path.ends_with('/')) path += '/';
  for (const std::string_view piece : pieces_of(wanted)) {
    if (piece == "%j") {
      path += job;
    } else if (piece == "%a") {
      path += std::to_string(attempt);
    } else {
      path += piece.substr(0, 1);  // "%%" is '%'.
    }
  }
  return path;
}

bool takes_log(FileKind kind) {
  return S_ISREG(kind.mode) || (S_ISCHR(kind.mode) && kind.device == makedev(1, 3));
}

Status check_log_place(std::string_view wanted, const std::string& directory) {
  const std::string path = named_log(wanted, directory, "1", 1);
  // With another number it would be another file.
  const bool is_known = path == named_log(wanted, directory, "2", 2);
  struct stat found{};
  if (is_known && ::stat(path.c_str(), &found) == 0) {
    if (!takes_log({.mode = found.st_mode, .device = found.st_rdev})) {
      return wrong("'" + path + "' is no regular file");
    }
    if (::access(path.c_str(), W_OK) == 0) return Unit{};
    return os::system_error("--log: cannot write '" + path + "'", errno);
  }
  const std::string place = path.substr(0, path.rfind('/') + 1);
  if (::stat(place.c_str(), &found) == 0 && ::access(place.c_str(), W_OK | X_OK) == 0) {
    return Unit{};
  }
  return os::system_error("--log: cannot write into '" + place + "'", errno);
}

}  // namespace berth::jobs
