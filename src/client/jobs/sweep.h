// SPDX-License-Identifier: Apache-2.0
// Members of a set of jobs: what each is given, and how it finds its way into the command. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::jobs {

/// Of one member, in the order in which they were written: name and value. A member that is no JSON
/// object has one, `item`.
using Parameters = std::vector<std::pair<std::string, std::string>>;
/// Of a line of --each. kInvalid: an object whose values are not all texts, numbers and words of
/// JSON, or a name that is none: letters, digits and '_'.
Result<Parameters> parameters_of(std::string_view line);

/// Every line that is not empty, each of which has been looked at; the error names its number.
Result<std::vector<std::string>> lines_of_each(std::string_view text);
/// Members for every combination of --grid "NAME=A,B,…", the last axis changing fastest.
Result<std::vector<std::string>> lines_of_grid(const std::vector<std::string>& axes);

/// With each {NAME} that there is in its place; other braces are left alone.
std::string filled_in(std::string_view word, const Parameters& parameters);
/// Of a member, from that of its set: follows from its parameters alone, in whatever order they
/// were written. From 0 to 2^31 - 1, which every library takes.
std::uint32_t seed_of(std::uint32_t seed, Parameters parameters);
/// BERTH_ITEM, the line itself; BERTH_EACH_NAME of each parameter; BERTH_MEMBER, its number.
std::vector<std::string> variables_of(std::string_view line, const Parameters& parameters,
                                      std::uint64_t number);

}  // namespace berth::jobs
