// SPDX-License-Identifier: Apache-2.0
// A Record as one line of JSON and back: what the journal holds. docs/store.md names the fields.
// Reading is total: any bytes give a Record or an error. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/record.h"

namespace berth {

/// Longer lines are not read. The longest that is written (a lease with all its members, labels
/// and a command of control characters) stays below it.
inline constexpr std::size_t kRecordLineMax = std::size_t{256} << 10U;

/// Appends the line, without a newline. Text that is not UTF-8 is made so: JSON has no other.
void append_json(const Record& record, std::string& line);
std::string to_json(const Record& record);

/// kCorrupt, naming the field, where the line is not a record; kVersion where it is one of a fact
/// that this release does not know. Fields that it does not know are passed over.
Result<Record> parse_record(std::string_view line);

}  // namespace berth
