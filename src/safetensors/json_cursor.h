// SPDX-License-Identifier: Apache-2.0
// A strict reader of JSON text that goes through it once and keeps nothing: headers come from
// unmanaged processes and may be 100 MB long. What does not fit stops it; `at` says where. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::safetensors {

class JsonCursor {
 public:
  /// The text must outlive it.
  explicit JsonCursor(std::string_view text) : text_(text) {}

  /// Passes blanks, then this character if it is the next.
  bool take(char wanted);
  /// Passes a quoted text and gives what it means; absent where none comes, an escape is wrong, or
  /// it is no UTF-8.
  std::optional<std::string> text();
  /// Passes a whole number, not negative, written without fraction and exponent.
  std::optional<std::uint64_t> natural();
  /// Passes a value of any kind; false where none comes, or it is nested deeper than 64 levels.
  bool skip_value();

  /// What stands behind all that was passed.
  std::string_view rest() const { return text_.substr(at_); }
  std::size_t at() const { return at_; }

 private:
  void skip_blanks();
  bool skip_value_at(int depth);
  bool skip_list(char close, int depth);
  bool skip_number();
  bool skip_digits();
  bool word(std::string_view wanted);

  std::string_view text_;
  std::size_t at_ = 0;
};

/// One JSON value with nothing but blanks around it.
bool is_json(std::string_view text);

}  // namespace berth::safetensors
