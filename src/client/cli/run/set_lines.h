// SPDX-License-Identifier: Apache-2.0
// Members of a set that is submitted: a line of each, as the options say, without those that an
// earlier set has done. Any thread; may wait for a keeper to write how that set ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cli/run/run_options.h"

namespace berth::cli {

struct SetLines {
  std::vector<std::string> lines = {};  // None: it is no set, or nothing of it is left.
  std::optional<LeaseId> resumes = {};  // The earlier set.
  std::optional<std::uint32_t> seed = {};
};
Result<SetLines> set_lines_of(const RunOptions& run);

}  // namespace berth::cli
