// SPDX-License-Identifier: Apache-2.0
#include "safetensors/json_cursor.h"

#include <charconv>

#include "base/json_string.h"
#include "base/json_tree.h"

namespace berth::safetensors {
namespace {

constexpr int kDepthMax = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

void JsonCursor::skip_blanks() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool JsonCursor::take(char wanted) {
  skip_blanks();
  if (at_ == text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

std::optional<std::string> JsonCursor::text() {
  if (!take('"')) return std::nullopt;
  JsonTree::Node node{.kind = JsonTree::Kind::kText};
  const std::size_t start = at_;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (static_cast<unsigned char>(text_[at_]) < 0x20) return std::nullopt;
    if (text_[at_] == '\\') {
      node.escaped = true;
      ++at_;  // What is escaped is not the end, whatever it is.
    }
  }
  if (at_ >= text_.size()) return std::nullopt;
  node.text = text_.substr(start, at_ - start);
  ++at_;
  if (!is_utf8(node.text)) return std::nullopt;
  return text_of(node);
}

std::optional<std::uint64_t> JsonCursor::natural() {
  skip_blanks();
  const std::string_view rest = text_.substr(at_);
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return std::nullopt;
  const auto length = static_cast<std::size_t>(stop - rest.data());
  if (length > 1 && rest.front() == '0') return std::nullopt;
  at_ += length;
  // What follows says whether it was a whole one: "1.5" and "1e3" are none.
  const bool goes_on = at_ < text_.size() && std::string_view(".eE").contains(text_[at_]);
  return goes_on ? std::nullopt : std::optional(value);
}

bool JsonCursor::skip_value() {
  return skip_value_at(0);
}

bool JsonCursor::skip_value_at(int depth) {
  skip_blanks();
  if (at_ == text_.size() || depth > kDepthMax) return false;
  switch (text_[at_]) {
    case '{':
      return skip_list('}', depth);
    case '[':
      return skip_list(']', depth);
    case '"':
      return text().has_value();
    case 'n':
      return word("null");
    case 't':
      return word("true");
    case 'f':
      return word("false");
    default:
      return skip_number();
  }
}

bool JsonCursor::skip_list(char close, int depth) {
  ++at_;
  if (take(close)) return true;
  do {
    if (close == '}' && !(text() && take(':'))) return false;
    if (!skip_value_at(depth + 1)) return false;
  } while (take(','));
  return take(close);
}

bool JsonCursor::skip_digits() {
  const std::size_t start = at_;
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  return at_ > start;
}

bool JsonCursor::skip_number() {
  const auto next_is = [this](std::string_view set) {
    return at_ < text_.size() && set.contains(text_[at_]);
  };
  if (next_is("-")) ++at_;
  const bool zero = next_is("0");
  const std::size_t start = at_;
  if (!skip_digits() || (zero && at_ > start + 1)) return false;
  if (next_is(".")) {
    ++at_;
    if (!skip_digits()) return false;
  }
  if (!next_is("eE")) return true;
  ++at_;
  if (next_is("+-")) ++at_;
  return skip_digits();
}

bool JsonCursor::word(std::string_view wanted) {
  if (!text_.substr(at_).starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}

bool is_json(std::string_view text) {
  JsonCursor cursor(text);
  return cursor.skip_value() && cursor.rest().find_first_not_of(" \t\n\r") == std::string::npos;
}

}  // namespace berth::safetensors
