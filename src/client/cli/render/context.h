// SPDX-License-Identifier: Apache-2.0
// Context of every text for people besides its facts: when, for whom, and what the terminal can
// show. Handed in, so that the texts are functions of their arguments.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "cli/render/text.h"

namespace berth::cli {

struct RenderContext {
  Charset charset;
  std::optional<std::size_t> width;  // Absent: not a terminal, nothing is shortened.
  UnixMs now;
  UserId me;
  std::function<std::string(UserId)> user_name;
  bool simulated = false;  // The GPUs are.
};

}  // namespace berth::cli
