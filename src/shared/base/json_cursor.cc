// SPDX-License-Identifier: Apache-2.0
#include "base/json_cursor.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/json_string.h"

namespace berth {
namespace {

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_number(std::string_view text) {
  const auto take_digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  const auto take = [&](std::string_view one_of) {
    const bool there = !text.empty() && one_of.contains(text.front());
    if (there) text.remove_prefix(1);
    return there;
  };
  take("-");
  if (!take("0") && !take_digits()) return false;
  if (take(".") && !take_digits()) return false;
  if (take("eE")) {
    take("+-");
    if (!take_digits()) return false;
  }
  return text.empty();
}

}  // namespace

char JsonCursor::next() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonCursor::take(char wanted) {
  if (next() != wanted || at_ == text_.size()) return false;
  ++at_;
  return true;
}

bool JsonCursor::word(std::string_view wanted) {
  next();
  if (!rest().starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}

std::optional<JsonCursor::Quoted> JsonCursor::quoted() {
  if (!take('"')) return std::nullopt;
  const std::size_t start = at_;
  bool escaped = false;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (static_cast<unsigned char>(text_[at_]) < 0x20) return std::nullopt;
    if (text_[at_] == '\\') {
      escaped = true;
      ++at_;  // What is escaped is not the end, whatever it is.
    }
  }
  if (at_ >= text_.size()) return std::nullopt;
  const Quoted found{.text = text_.substr(start, at_ - start), .escaped = escaped};
  ++at_;
  return found;
}

std::optional<std::string> JsonCursor::text() {
  const std::optional<Quoted> found = quoted();
  if (!found || !is_utf8(found->text)) return std::nullopt;
  return found->escaped ? unescaped(found->text) : std::optional<std::string>(found->text);
}

std::optional<std::string_view> JsonCursor::number() {
  const std::size_t start = at_;
  const std::optional<std::string_view> letters = number_letters();
  if (!letters || is_number(*letters)) return letters;
  at_ = start;
  next();
  return std::nullopt;
}

std::optional<std::string_view> JsonCursor::number_letters() {
  next();
  const std::size_t end = text_.find_first_not_of("-+.0123456789eE", at_);
  const std::string_view letters = text_.substr(at_, end - at_);
  if (letters.empty()) return std::nullopt;
  at_ += letters.size();
  return letters;
}

std::optional<std::uint64_t> JsonCursor::natural() {
  next();
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(rest().data(), rest().data() + rest().size(), value);
  if (error != std::errc{}) return std::nullopt;
  const auto length = static_cast<std::size_t>(stop - rest().data());
  if (length > 1 && rest().front() == '0') return std::nullopt;
  at_ += length;
  // What follows says whether it was a whole one: "1.5" and "1e3" are none.
  const bool goes_on = at_ < text_.size() && std::string_view(".eE").contains(text_[at_]);
  return goes_on ? std::nullopt : std::optional(value);
}

}  // namespace berth
