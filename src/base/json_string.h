// SPDX-License-Identifier: Apache-2.0
// Text as JSON writes it. What is appended is always valid JSON and valid UTF-8: bytes that are
// none become U+FFFD, because command lines may hold anything. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// Appends the text in quotes.
void append_json_string(std::string_view text, std::string& out);

}  // namespace berth
