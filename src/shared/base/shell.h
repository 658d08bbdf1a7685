// SPDX-License-Identifier: Apache-2.0
// Words as a shell reads them. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// As it stands where a shell would not touch it, else in quotes.
std::string quoted_for_shell(std::string_view word);

}  // namespace berth
