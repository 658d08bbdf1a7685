// SPDX-License-Identifier: Apache-2.0
// Writes JSON into a string, in the order of the calls. What it writes is always valid JSON and
// valid UTF-8: bytes that are none become U+FFFD, because command lines may hold anything. Not
// shared between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace berth {

class JsonWriter {
 public:
  enum class Layout : std::uint8_t { kOneLine, kIndented };  // By two blanks a level.

  explicit JsonWriter(Layout layout = Layout::kOneLine) : indented_(layout == Layout::kIndented) {}
  /// Appends to that.
  explicit JsonWriter(std::string text) : text_(std::move(text)) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  /// Inside an object, before each value.
  JsonWriter& key(std::string_view name);
  /// One of ours, which needs no escapes.
  JsonWriter& plain_key(std::string_view name);

  JsonWriter& null();
  JsonWriter& boolean(bool value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& number(std::uint64_t value);
  JsonWriter& thousandths(std::uint64_t value);  // 884 as 0.884.
  /// As short as it can be and still be read as the same; null if absent, infinite or no number.
  JsonWriter& real(std::optional<double> value);
  JsonWriter& text(std::string_view value);
  JsonWriter& plain_text(std::string_view value);  // One of ours, which needs no escapes.
  /// A value that is JSON already, as it stands.
  JsonWriter& json(std::string_view value);
  // Null if empty.
  JsonWriter& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  // Null if absent.
  JsonWriter& bytes(std::optional<Bytes> value) { return value ? number(value->value) : null(); }
  JsonWriter& milliseconds(std::optional<Duration> value);
  JsonWriter& time(std::optional<UnixMs> value);

  /// What was written; every object and array must have been ended.
  std::string take();

 private:
  void separate();
  void close(char bracket);
  void begin_line();

  std::string text_;
  bool indented_ = false;
  std::uint32_t depth_ = 0;
  bool comma_ = false;      // The next value or key needs one before it.
  bool after_key_ = false;  // The next value stands in the line of its key.
};

}  // namespace berth
