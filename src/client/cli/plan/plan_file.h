// SPDX-License-Identifier: Apache-2.0
// A plan file, `berth.toml`: the sessions of a project, each a command with the options of `berth
// submit`. Nothing is run here. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/run/request.h"
#include "config/document.h"
#include "config/problem.h"
#include "model/request.h"

namespace berth::cli {

inline constexpr std::string_view kPlanFile = "berth.toml";
inline constexpr std::size_t kPlanFileMax = std::size_t{256} << 10U;  // Bytes.
inline constexpr std::size_t kPlanSessionsMax = 256;

struct PlannedSession {
  /// Another session of the plan, and how it has to end before this one starts.
  struct After {
    std::string session;
    Ends ends = Ends::kAny;
    friend bool operator==(const After&, const After&) = default;
  };

  std::string name;
  std::vector<std::string> options;  // Of `berth submit`: "--vram=8G". Without those of `after`.
  std::vector<std::string> command;
  std::vector<After> after;
  RequestOptions asked;       // What the options say of its request.
  std::uint32_t members = 0;  // Of a grid; 0: it is none. Those of a file are not counted here.
  config::Position at;

  /// Of what is run and how, not of the name: another one is another definition.
  std::string fingerprint() const;
};

struct Plan {
  std::vector<PlannedSession> sessions;  // In the order of the file, each behind those it is after.

  const PlannedSession* find(std::string_view name) const;
};

/// The problems name `file`, line and column.
std::variant<Plan, config::Problems> parse_plan(const std::string& file, std::string_view text);

}  // namespace berth::cli
