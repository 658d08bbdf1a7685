// SPDX-License-Identifier: Apache-2.0
// The background of a terminal: what is asked of it, and what its answers mean (xterm's OSC 11).
// They come from outside: what is not exactly of their form means nothing. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "cli/top/canvas.h"

namespace berth::cli::top {

/// What the background is, and then what each terminal answers: a fence, behind which no answer to
/// the first is to come (DA1).
inline constexpr std::string_view kBackgroundQuestion = "\x1b]11;?\x1b\\\x1b[c";

/// Of "]11;rgb:ffff/ffff/ffff", as KeyReader has it; absent: it says something else.
std::optional<Background> background_of(std::string_view answer);
/// Whether it is that of the fence.
bool is_fence(std::string_view answer);
/// Of the variable COLORFGBG: "0;15"; absent: it does not say.
std::optional<Background> background_by_colorfgbg(std::string_view value);

}  // namespace berth::cli::top
