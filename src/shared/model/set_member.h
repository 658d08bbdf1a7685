// SPDX-License-Identifier: Apache-2.0
// Members of sets as people name them: "17.3". Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/number.h"
#include "model/request.h"

namespace berth {

/// Absent: it is no such name.
inline std::optional<SetMember> parse_set_member(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto set = parse_number<std::uint64_t>(text.substr(0, dot));
  const auto number = parse_number<std::uint32_t>(text.substr(dot + 1));
  return set && number ? std::optional(SetMember{{*set}, *number}) : std::nullopt;
}

inline std::string to_text(SetMember member) {
  return to_text(member.set) + "." + std::to_string(member.number);
}

}  // namespace berth
