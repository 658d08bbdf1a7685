// SPDX-License-Identifier: Apache-2.0
// The doctor's check that jobs live on when their user logs out. Looking reads files of systemd,
// asks nobody and changes nothing; judging is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "cli/doctor/finding.h"

namespace berth::cli {

struct LogOutFacts {
  /// Where the keeper runs, or would be started from here.
  enum class Place : std::uint8_t { kSession, kUserManager, kElsewhere };

  std::string user;
  bool has_sessions = false;                // Of anybody: logind is there.
  bool kills = false;                       // The processes of this user's sessions, at log-out.
  std::string said_by;                      // The file that says so.
  bool lingers = false;                     // The user's own systemd outlives the last session.
  std::optional<std::int32_t> keeper = {};  // Its pid, while it runs.
  Place place = Place::kElsewhere;
};

/// `keeper` is who held its lock last. `root`: of the file system, "" but for tests.
LogOutFacts look_at_log_out(const std::string& root, const std::string& user,
                            std::optional<std::int32_t> keeper);
Finding judge_log_out(const LogOutFacts& facts);

}  // namespace berth::cli
