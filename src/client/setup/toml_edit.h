// SPDX-License-Identifier: Apache-2.0
// Changes of one table in a text of TOML that people write: the rest stays as it is. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::setup {

/// The text with the table `name` ("mcp_servers.berth") being `lines`: in its place, or at the end.
/// kInvalid, naming line and column: the text is no TOML.
Result<std::string> with_table(std::string_view text, std::string_view name,
                               std::string_view lines);

/// The text without that table, and without the empty line before it.
Result<std::string> without_table(std::string_view text, std::string_view name);

}  // namespace berth::setup
