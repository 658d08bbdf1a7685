// SPDX-License-Identifier: Apache-2.0
// Commands of a shell line that are likely to use a GPU, and the line with a lease for them. A
// guess by their names: nothing is executed or looked up. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::setup {

/// Programs that are taken to use a GPU where nothing else is configured. `python` stands for
/// python3 and python3.12 too.
std::span<const std::string_view> default_gpu_programs();

/// The line, with `prefix` (such as "berth run -m auto --") before each program of `programs` that
/// is not started by berth already. Absent: there is none. Words in quotes are not looked into.
std::optional<std::string> with_lease(std::string_view line,
                                      std::span<const std::string_view> programs,
                                      std::string_view prefix);

}  // namespace berth::setup
