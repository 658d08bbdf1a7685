// SPDX-License-Identifier: Apache-2.0
// The known word that was probably meant: for the «did you mean» of options, fields and keys.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace berth {

/// The candidate that is fewest edits away (insert, drop, change, swap of neighbours), the first of
/// equals; or the only one that `word` begins. None if more than a third of the letters differ.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

}  // namespace berth
