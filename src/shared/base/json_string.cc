// SPDX-License-Identifier: Apache-2.0
#include "base/json_string.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "base/letters.h"

namespace berth {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The length of the well-formed UTF-8 sequence at the start of `text` (RFC 3629), or 0.
std::size_t sequence_length(std::string_view text) {
  const Letter letter = first_letter(text);
  return letter.valid ? letter.size : 0;
}

void append_control(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4U];
      out += kHex[static_cast<unsigned char>(c) & 15U];
  }
}

// The length of the run at the start of `text` that is written as it stands: nearly all there is.
std::size_t plain_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const auto c = static_cast<unsigned char>(text[length]);
    if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\') break;
    ++length;
  }
  return length;
}

std::optional<std::uint32_t> four_digits(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t unit = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + 4, unit, 16);
  if (error != std::errc{} || stop != text.data() + 4) return std::nullopt;
  return unit;
}

void append_utf8(std::uint32_t point, std::string& out) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Takes what follows "\u" off the rest; what lies beyond the basic plane is written as two units.
bool take_code_point(std::string_view& rest, std::string& out) {
  const std::optional<std::uint32_t> first = four_digits(rest);
  if (!first) return false;
  rest.remove_prefix(4);
  if (*first < 0xD800 || *first > 0xDFFF) {
    append_utf8(*first, out);
    return true;
  }
  if (*first > 0xDBFF || !rest.starts_with("\\u")) return false;
  const std::optional<std::uint32_t> second = four_digits(rest.substr(2));
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return false;
  rest.remove_prefix(6);
  append_utf8(0x10000 + (*first - 0xD800) * 0x400 + (*second - 0xDC00), out);
  return true;
}

}  // namespace

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  for (;;) {
    const std::size_t plain = plain_length(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += kReplacement;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (length == 1) {
      append_control(out, c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::size_t utf8_length(std::string_view text) {
  std::size_t whole = 0;
  while (whole < text.size()) {
    if (static_cast<unsigned char>(text[whole]) < 0x80) {  // Nearly all there is.
      ++whole;
      continue;
    }
    const std::size_t length = sequence_length(text.substr(whole));
    if (length == 0) break;
    whole += length;
  }
  return whole;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    out += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.size() < 2) return rest.empty() ? std::optional(out) : std::nullopt;
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    const char name = rest[1];
    rest.remove_prefix(2);
    if (name == 'u') {
      if (!take_code_point(rest, out)) return std::nullopt;
    } else if (const std::size_t known = kNames.find(name); known != std::string_view::npos) {
      out += kMeant[known];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace berth
