// SPDX-License-Identifier: Apache-2.0
// Keys and the mouse, from the bytes that a terminal sends (ECMA-48, and xterm's mouse reports of
// mode 1006), and what it answers to questions, which is never a key. Pure.
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
  /// So often has nothing to come before a sequence that has begun is given up: over a slow line it
  /// comes in pieces.
  static constexpr std::size_t kSettlesInAnswer = 40;
  /// Longer ones are of no interest here, as those beyond so many that nobody has taken.
  static constexpr std::size_t kAnswerMax = 64;
  static constexpr std::size_t kAnswersKept = 8;

  /// What they make, together with those before that made nothing yet. What is not known, of other
  /// keys, is left out.
  std::vector<Key> take(std::string_view bytes);
  /// Nothing more came: ESC alone is the key Escape, and not the beginning of another.
  std::optional<Key> settle();
  /// The terminal was asked something: ESC alone is rather the beginning of its answer.
  void expect_answer(bool expected) { expects_answer_ = expected; }
  bool is_between() const { return !pending_.empty() || inside_ != Inside::kNothing; }
  /// What the terminal has answered since this was last called, without its first and last letters
  /// of control: "]11;rgb:0000/0000/0000", "[?62c".
  std::vector<std::string> take_answers();

 private:
  /// Of what was begun and is read to its end, however long it is.
  enum class Inside : std::uint8_t { kNothing, kAnswer, kSequence };

  std::optional<Key> next();
  std::optional<Key> letter();
  std::optional<Key> control_sequence();
  std::optional<Key> rest_of_answer();
  std::optional<Key> rest_of_sequence();
  void keep(std::string answer);

  std::string pending_;
  std::size_t used_ = 0;  // Of it, by next().
  Inside inside_ = Inside::kNothing;
  std::string answer_;     // Of Inside::kAnswer, and no more than one byte too much.
  std::size_t quiet_ = 0;  // So often nothing came in it.
  bool expects_answer_ = false;
  std::vector<std::string> answers_;
};

}  // namespace berth::cli::top
