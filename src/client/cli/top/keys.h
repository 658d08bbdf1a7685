// SPDX-License-Identifier: Apache-2.0
// Keys and the mouse, from the bytes that a terminal sends (ECMA-48, and xterm's mouse reports of
// mode 1006). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli::top {

struct Key {
  enum class Kind : std::uint8_t {
    kText,  // A letter, as UTF-8.
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kBackspace,
    kClick,  // At a cell, counted from 0.
    kWheelUp,
    kWheelDown,
  };
  Kind kind = Kind::kText;
  std::string text = {};
  std::size_t column = 0;
  std::size_t row = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

class KeyReader {
 public:
  /// What they make, together with those before that made nothing yet. What is not known, of other
  /// keys, is left out.
  std::vector<Key> take(std::string_view bytes);
  /// Nothing more came: a beginning is the key Escape, and not that of another.
  std::optional<Key> settle();
  bool is_between() const { return !pending_.empty(); }

 private:
  std::optional<Key> next();
  std::optional<Key> control_sequence();

  std::string pending_;
  std::size_t used_ = 0;  // Of it, by next().
};

}  // namespace berth::cli::top
