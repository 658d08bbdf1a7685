// SPDX-License-Identifier: Apache-2.0
// A finding of the doctor: a fact, what follows from it, and one command that mends it; and
// findings as text. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "cli/render/context.h"

namespace berth::cli {

/// kSkip: it could not be looked at.
enum class Level : std::uint8_t { kOk, kWarn, kFail, kSkip };
constexpr auto words_of(Level) {
  using enum Level;
  return make_words<Level>({{kOk, "ok"}, {kWarn, "warn"}, {kFail, "FAIL"}, {kSkip, "skip"}});
}

struct Finding {
  std::string_view group = {};  // "driver", "daemon", "places", "pausing", "enforcement" and so on
  std::string_view check;       // One word for programs: "probe", "disk_space".
  Level level = Level::kOk;
  std::string fact;
  std::string consequence = {};  // Empty with kOk.
  std::string cure = {};         // A command, or empty where there is none.
};
using Findings = std::vector<Finding>;

/// A finding of each level; the group is filled in by who collects them.
struct Trouble {
  std::string fact;
  std::string consequence = {};
  std::string cure = {};
};
Finding fine(std::string_view check, std::string fact);
Finding warning(std::string_view check, Trouble trouble);
Finding failure(std::string_view check, Trouble trouble);
Finding skipped(std::string_view check, Trouble trouble);

/// Grouped; beside a fact that is not well what follows from it and a command that mends it.
std::string findings_text(const Findings& findings, const RenderContext& context);

/// berth/doctor/v1; the level in lower case.
std::string findings_json(const Findings& findings, UnixMs now);

}  // namespace berth::cli
