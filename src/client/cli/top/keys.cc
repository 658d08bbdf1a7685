// SPDX-License-Identifier: Apache-2.0
#include "cli/top/keys.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/number.h"

namespace berth::cli::top {
namespace {

constexpr std::size_t kSequenceMax = 64;
constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';
// What begins a string of a terminal, behind ESC: OSC, DCS, SOS, PM and APC.
constexpr std::string_view kStrings = "]PX^_";

// Ends a string, or begins something else.
bool cancels(char letter) {
  return letter == '\x18' || letter == '\x1a';
}

struct Named {
  std::string_view sequence;  // What stands between "ESC [" or "ESC O" and its end, and its end.
  Key::Kind kind;
};
constexpr std::array<Named, 14> kSequences = {{{"A", Key::Kind::kUp},
                                               {"B", Key::Kind::kDown},
                                               {"H", Key::Kind::kHome},
                                               {"F", Key::Kind::kEnd},
                                               {"M", Key::Kind::kEnter},
                                               {"1~", Key::Kind::kHome},
                                               {"4~", Key::Kind::kEnd},
                                               {"7~", Key::Kind::kHome},
                                               {"8~", Key::Kind::kEnd},
                                               {"5~", Key::Kind::kPageUp},
                                               {"6~", Key::Kind::kPageDown},
                                               {"1;5A", Key::Kind::kPageUp},
                                               {"1;5B", Key::Kind::kPageDown},
                                               {"3~", Key::Kind::kBackspace}}};

std::size_t length_of_letter(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc0) return 1;  // No beginning of a letter.
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

// "<0;12;5" and M: a button, column and row, from 1.
std::optional<Key> mouse(std::string_view fields, bool pressed) {
  std::array<std::size_t, 3> numbers = {};
  for (std::size_t& number : numbers) {
    const std::string_view field = fields.substr(0, fields.find(';'));
    const auto read = parse_number<std::uint32_t>(field);
    if (!read) return std::nullopt;
    number = *read;
    fields.remove_prefix(std::min(field.size() + 1, fields.size()));
  }
  const auto [button, column, row] = numbers;
  constexpr std::size_t kWheel = 64;
  if (button == kWheel) return Key{.kind = Key::Kind::kWheelUp};
  if (button == kWheel + 1) return Key{.kind = Key::Kind::kWheelDown};
  if (button != 0 || !pressed || column == 0 || row == 0) return std::nullopt;
  return Key{.kind = Key::Kind::kClick, .column = column - 1, .row = row - 1};
}

}  // namespace

std::vector<Key> KeyReader::take(std::string_view bytes) {
  pending_ += bytes;
  quiet_ = 0;
  std::vector<Key> keys;
  while (!pending_.empty()) {
    used_ = 0;
    std::optional<Key> key = next();
    if (used_ == 0) break;  // It has only begun.
    pending_.erase(0, used_);
    if (key) keys.push_back(*std::move(key));
  }
  return keys;
}

std::optional<Key> KeyReader::settle() {
  if (!is_between()) return std::nullopt;
  const bool has_begun = inside_ != Inside::kNothing || pending_.size() > 1 || expects_answer_;
  if (has_begun && ++quiet_ < kSettlesInAnswer) return std::nullopt;
  inside_ = Inside::kNothing;
  const bool is_escape = pending_ == std::string_view(&kEscape, 1);
  pending_.clear();
  return is_escape ? std::optional(Key{.kind = Key::Kind::kEscape}) : std::nullopt;
}

std::vector<std::string> KeyReader::take_answers() {
  return std::exchange(answers_, {});
}

void KeyReader::keep(std::string answer) {
  if (answer.size() <= kAnswerMax && answers_.size() < kAnswersKept) {
    answers_.push_back(std::move(answer));
  }
}

std::optional<Key> KeyReader::next() {
  if (inside_ == Inside::kAnswer) return rest_of_answer();
  if (inside_ == Inside::kSequence) return rest_of_sequence();
  return pending_.front() == kEscape ? control_sequence() : letter();
}

std::optional<Key> KeyReader::letter() {
  const char first = pending_.front();
  if (first == '\r' || first == '\n') {
    used_ = 1;
    return Key{.kind = Key::Kind::kEnter};
  }
  if (first == '\x7f' || first == '\b') {
    used_ = 1;
    return Key{.kind = Key::Kind::kBackspace};
  }
  const std::size_t length = length_of_letter(static_cast<unsigned char>(first));
  if (pending_.size() < length) return std::nullopt;
  used_ = length;
  if (static_cast<unsigned char>(first) < 0x20) return std::nullopt;
  return Key{.text = pending_.substr(0, length)};
}

std::optional<Key> KeyReader::control_sequence() {
  if (pending_.size() < 2) return std::nullopt;
  if (pending_[1] == kEscape) {
    used_ = 1;
    return Key{.kind = Key::Kind::kEscape};
  }
  if (kStrings.find(pending_[1]) != std::string_view::npos) {
    used_ = 2;
    inside_ = Inside::kAnswer;
    answer_ = pending_[1];
    return std::nullopt;
  }
  if (pending_[1] != '[' && pending_[1] != 'O') {
    used_ = 2;  // Alt and a letter.
    return std::nullopt;
  }
  // Parameters, and one letter or ~ that ends it.
  std::size_t end = 2;
  while (end < std::min(pending_.size(), kSequenceMax) && pending_[end] >= ' ' &&
         pending_[end] < '@') {
    ++end;
  }
  if (end == kSequenceMax) {
    used_ = end;  // It is no key.
    inside_ = Inside::kSequence;
    return std::nullopt;
  }
  if (end == pending_.size()) return std::nullopt;
  if (pending_[end] < ' ') {
    used_ = end;  // It has no end: another begins.
    return std::nullopt;
  }
  used_ = end + 1;
  const std::string_view sequence = std::string_view(pending_).substr(2, used_ - 2);
  if (sequence.starts_with('<')) {
    return mouse(sequence.substr(1, sequence.size() - 2), sequence.ends_with('M'));
  }
  if (sequence.starts_with('?')) keep(pending_.substr(1, used_ - 1));
  for (const Named& named : kSequences) {
    if (named.sequence == sequence) return Key{.kind = named.kind};
  }
  return std::nullopt;
}

// Up to BEL, or ESC and a backslash. Another sequence, or CAN, ends it without a result.
std::optional<Key> KeyReader::rest_of_answer() {
  for (; used_ < pending_.size(); ++used_) {
    const char letter = pending_[used_];
    if (letter == kEscape) break;
    if (letter == kBell || cancels(letter)) {
      if (letter == kBell) keep(answer_);
      inside_ = Inside::kNothing;
      ++used_;
      return std::nullopt;
    }
    if (answer_.size() <= kAnswerMax) answer_ += letter;
  }
  if (used_ + 1 >= pending_.size()) return std::nullopt;  // What follows ESC is still to come.
  if (pending_[used_ + 1] == kEscape) {
    ++used_;
    return std::nullopt;
  }
  inside_ = Inside::kNothing;
  if (pending_[used_ + 1] == '\\') {
    keep(answer_);
    used_ += 2;
  } else if (used_ == 0) {
    return control_sequence();
  }
  return std::nullopt;
}

// Of one that is too long to be a key: up to the letter that ends it.
std::optional<Key> KeyReader::rest_of_sequence() {
  while (used_ < pending_.size() && pending_[used_] >= ' ' && pending_[used_] < '@') ++used_;
  if (used_ == pending_.size()) return std::nullopt;
  inside_ = Inside::kNothing;
  if (pending_[used_] >= '@') {
    ++used_;
  } else if (used_ == 0) {
    return next();
  }
  return std::nullopt;
}

}  // namespace berth::cli::top
