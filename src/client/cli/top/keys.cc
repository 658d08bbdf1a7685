// SPDX-License-Identifier: Apache-2.0
#include "cli/top/keys.h"

#include <array>
#include <utility>

#include "base/number.h"

namespace berth::cli::top {
namespace {

constexpr std::size_t kSequenceMax = 32;
constexpr char kEscape = '\x1b';

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
  if (pending_.empty()) return std::nullopt;
  const bool is_escape = pending_.front() == kEscape;
  pending_.clear();
  return is_escape ? std::optional(Key{.kind = Key::Kind::kEscape}) : std::nullopt;
}

std::optional<Key> KeyReader::next() {
  const char first = pending_.front();
  if (first == kEscape) return control_sequence();
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
    used_ = end;  // It is none.
    return std::nullopt;
  }
  if (end == pending_.size()) return std::nullopt;
  used_ = end + 1;
  const std::string_view sequence = std::string_view(pending_).substr(2, used_ - 2);
  if (sequence.starts_with('<')) {
    return mouse(sequence.substr(1, sequence.size() - 2), sequence.ends_with('M'));
  }
  for (const Named& named : kSequences) {
    if (named.sequence == sequence) return Key{.kind = named.kind};
  }
  return std::nullopt;
}

}  // namespace berth::cli::top
