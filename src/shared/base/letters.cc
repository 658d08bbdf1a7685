// SPDX-License-Identifier: Apache-2.0
#include "base/letters.h"

#include <algorithm>
#include <array>

namespace berth {
namespace {

struct HarmfulRange {
  char32_t first;
  char32_t last;
};

constexpr std::array kHarmful = {
    HarmfulRange{0x00, 0x1F},        HarmfulRange{0x7F, 0x9F},     HarmfulRange{0x061C, 0x061C},
    HarmfulRange{0x200B, 0x200F},    HarmfulRange{0x2028, 0x202E}, HarmfulRange{0x2060, 0x206F},
    HarmfulRange{0xE000, 0xF8FF},    HarmfulRange{0xFEFF, 0xFEFF}, HarmfulRange{0xFFF0, 0xFFFB},
    HarmfulRange{0xE0000, 0x10FFFF},
};

}  // namespace

Letter first_letter(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80U) return {first, 1, true};
  const std::size_t size = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2;
  if (first < 0xC2U || first > 0xF4U || text.size() < size) return {};
  char32_t code = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest.at(size) || code > 0x10FFFF) return {};
  if (code >= 0xD800 && code <= 0xDFFF) return {};
  return {code, size, true};
}

bool is_harmful(char32_t code) {
  return std::ranges::any_of(kHarmful, [code](const HarmfulRange& range) {
    return code >= range.first && code <= range.last;
  });
}

std::string_view whole_letters(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string escape_control_line(std::string_view untrusted) {
  std::string line;
  line.reserve(untrusted.size());
  while (!untrusted.empty()) {
    const Letter letter = first_letter(untrusted);
    if (letter.valid && !is_harmful(letter.code)) {
      line += untrusted.substr(0, letter.size);
    } else {
      line += letter.valid && (letter.code == '\n' || letter.code == '\t') ? ' ' : '?';
    }
    untrusted.remove_prefix(letter.size);
  }
  return line;
}

}  // namespace berth
