// SPDX-License-Identifier: Apache-2.0
// Shortening of a text that has too little room. Words stay whole while one of them fits. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/text.h"

namespace berth::cli {

/// At most so many columns of a sentence or a command: its last words go.
std::string without_end(std::string_view text, std::size_t columns, Charset charset);

/// At most so many columns of each name. What tells it apart from those most like it stays, and of
/// the rest as much as there is room for, the beginning first.
std::vector<std::string> told_apart(const std::vector<std::string>& names, std::size_t columns,
                                    Charset charset);

}  // namespace berth::cli
