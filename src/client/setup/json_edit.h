// SPDX-License-Identifier: Apache-2.0
// Changes of one member in a text of JSON that people write: comments, order, blanks and commas at
// the end stay as they are. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::setup {

/// The text with the member at `path`, names from the outside in, set to `value`, which is JSON of
/// one line or several. Objects on the way that are missing are made; an empty text is `{}`. A
/// member that is there is replaced where it stands. kInvalid, with the line: the text is no JSON
/// even with comments, or on the way there is something else than an object.
Result<std::string> with_member(std::string_view text, std::span<const std::string_view> path,
                                std::string_view value);

/// The text without it; as it was where it is not there. Objects that are empty then stay.
Result<std::string> without_member(std::string_view text, std::span<const std::string_view> path);

/// The text with an element more at the end of the list at `path`, which is made if it is missing.
Result<std::string> with_element(std::string_view text, std::span<const std::string_view> path,
                                 std::string_view value);

/// The text without those elements of that list in which `mark` stands.
Result<std::string> without_elements(std::string_view text, std::span<const std::string_view> path,
                                     std::string_view mark);

/// The member as it stands there; empty: it is not there.
Result<std::string> member_of(std::string_view text, std::span<const std::string_view> path);

}  // namespace berth::setup
