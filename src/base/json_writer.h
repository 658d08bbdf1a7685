// SPDX-License-Identifier: Apache-2.0
// Writes JSON into a string, in the order of the calls. What it writes is always valid JSON and
// valid UTF-8: bytes that are none become U+FFFD, because command lines may hold anything. Not
// shared between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace berth {

class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  /// Inside an object, before each value.
  JsonWriter& key(std::string_view name);

  JsonWriter& null();
  JsonWriter& boolean(bool value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& number(std::uint64_t value);
  JsonWriter& thousandths(std::uint64_t value);  // 884 as 0.884.
  JsonWriter& text(std::string_view value);
  JsonWriter& text_or_null(std::string_view value);  // Null if empty.
  // Null if absent.
  JsonWriter& bytes(std::optional<Bytes> value);
  JsonWriter& milliseconds(std::optional<Duration> value);
  JsonWriter& time(std::optional<UnixMs> value);

  /// What was written; every object and array must have been ended.
  std::string take();

 private:
  void separate();
  void close(char bracket);

  std::string text_;
  std::uint32_t depth_ = 0;
  bool comma_ = false;  // The next value or key needs one before it.
};

}  // namespace berth
