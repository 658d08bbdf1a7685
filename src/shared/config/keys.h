// SPDX-License-Identifier: Apache-2.0
// The one table of keys. Parser, default file, documentation and JSON schema are all made from it,
// so they cannot differ. Within config only.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"
#include "config/config.h"

namespace berth::config {

/// A number that is written as "62%".
struct Percent {
  std::uint32_t* number;
};

/// Where in a Config the value of a key lies. Its type is the type of the key.
using Slot =
    std::variant<bool*, std::uint32_t*, Percent, Bytes*, Duration*, std::string*,
                 std::vector<std::string>*, Ladder*, std::map<std::string, std::string>*,
                 DefaultVram*, LogLevel*, Order*, Unmanaged*, IdleAction*, VisibleDevices*,
                 Reported*, ShowCommands*, Color*, Enforce*, OverBudget*, Output*, Severity*,
                 ReadMessages*, std::optional<std::uint32_t>*, std::optional<alerts::Expression>*,
                 std::optional<Bytes>*, std::optional<Duration>*, std::optional<DefaultVram>*,
                 std::optional<Priority>*, std::optional<Share>*, std::optional<IdleAction>*>;

inline constexpr std::uint64_t kNoMax = std::numeric_limits<std::uint64_t>::max();

struct Key {
  enum class Text : std::uint8_t { kLine, kAbsolutePath, kUrl };

  /// Dotted; '*' stands for a name of the user's choice. What begins with kProject is for the file
  /// of a project, where that beginning is left out.
  std::string_view path;
  std::string_view doc;
  /// `name` stands for '*'.
  Slot (*slot)(Config& config, const std::string& name);
  // Of the value: a number, bytes, nanoseconds; of text and tables the length.
  std::uint64_t min = 0;
  std::uint64_t max = kNoMax;
  Text text = Text::kLine;
  std::string_view former = {};      // The path before it was renamed: still read, and said.
  Cause cause = Cause::kOverBudget;  // Of a ladder: what it is for.
};

inline constexpr std::string_view kProject = "request.";

/// In the order in which they are shown; keys of one section stand together.
std::span<const Key> keys();

}  // namespace berth::config
