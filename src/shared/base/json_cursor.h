// SPDX-License-Identifier: Apache-2.0
// Goes through JSON text (RFC 8259) once, a token at a time, and keeps nothing: `JsonTree` is made
// with it, and heads of files that may be 100 MB long are read with it alone. What does not fit
// stops it; `at` says where. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

class JsonCursor {
 public:
  struct Quoted {
    std::string_view text;  // What is between the quotes.
    bool escaped = false;   // It holds backslashes.
  };

  /// The text must outlive it.
  explicit JsonCursor(std::string_view text) : text_(text) {}

  /// Each of these passes blanks first, then what it is for. Absent or false: something else comes.
  char next();  // Passes nothing else: the character that comes, and 0 at the end.
  bool take(char wanted);
  bool at_end() { return next() == '\0' && rest().empty(); }
  bool word(std::string_view wanted);
  /// A quoted text as it stands: it may be no UTF-8, and hold escapes that are none.
  std::optional<Quoted> quoted();
  /// What a quoted text means; absent also where an escape is wrong or it is no UTF-8.
  std::optional<std::string> text();
  std::optional<std::string_view> number();
  /// All that comes of the characters that numbers are made of, be it a number or not.
  std::optional<std::string_view> number_letters();
  /// A whole number, not negative, written without fraction and exponent.
  std::optional<std::uint64_t> natural();

  /// What stands behind all that was passed.
  std::string_view rest() const { return text_.substr(at_); }
  std::size_t at() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace berth
