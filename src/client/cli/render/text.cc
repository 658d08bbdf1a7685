// SPDX-License-Identifier: Apache-2.0
#include "cli/render/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/letters.h"

namespace berth::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, char32_t code) {
  for (const Range& range : ranges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

// The blocks that terminals draw two columns wide, and the commonest that take none. Not the whole
// of UAX #11: a rare letter costs a crooked line.
constexpr std::array kWide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},
    Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},
    Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
    Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD},
};
constexpr std::array kWithoutWidth = {Range{0x0300, 0x036F}, Range{0x1AB0, 0x1AFF},
                                      Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}};

std::size_t columns_of_letter(char32_t code) {
  if (is_in(kWithoutWidth, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

}  // namespace

std::string_view beginning(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  std::size_t used = 0;
  while (at < text.size()) {
    const Letter letter = first_letter(text.substr(at));
    used += columns_of_letter(letter.code);
    if (used > columns) break;
    at += letter.size;
  }
  return text.substr(0, at);
}

std::string_view ending(std::string_view text, std::size_t columns) {
  std::size_t width = columns_of(text);
  while (width > columns) {
    const Letter letter = first_letter(text);
    width -= columns_of_letter(letter.code);
    text.remove_prefix(letter.size);
  }
  return text;
}

std::string escape_control(std::string_view untrusted, Charset charset) {
  std::string result;
  result.reserve(untrusted.size());
  while (!untrusted.empty()) {
    const Letter letter = first_letter(untrusted);
    const bool shown =
        letter.valid && !is_harmful(letter.code) && (charset.unicode || letter.code < 0x80);
    if (shown) {
      result += untrusted.substr(0, letter.size);
    } else {
      result += letter.code == '\n' || letter.code == '\t' ? ' ' : '?';
    }
    untrusted.remove_prefix(letter.size);
  }
  return result;
}

std::string escape_control_lines(std::string_view untrusted, Charset charset) {
  std::string result;
  for (std::size_t at = 0; at < untrusted.size();) {
    const std::size_t stop = std::min(untrusted.find('\n', at), untrusted.size());
    result += escape_control(untrusted.substr(at, stop - at), charset);
    if (stop < untrusted.size()) result += '\n';
    at = stop + 1;
  }
  return result;
}

std::string json_for_terminal(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  const auto escape = [&](unsigned unit) {
    std::array<char, 16> text{};
    (void)std::snprintf(text.data(), text.size(), "\\u%04x", unit);
    result += text.data();
  };
  while (!json.empty()) {
    const Letter letter = first_letter(json);
    if (letter.code < 0x7F || !is_harmful(letter.code)) {
      result += json.substr(0, letter.size);  // JSON itself escapes what is below.
    } else if (letter.code < 0x10000) {
      escape(letter.code);
    } else {
      escape(0xD800U + ((letter.code - 0x10000U) >> 10U));
      escape(0xDC00U + (letter.code & 0x3FFU));
    }
    json.remove_prefix(letter.size);
  }
  return result;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Letter letter = first_letter(text);
    columns += columns_of_letter(letter.code);
    text.remove_prefix(letter.size);
  }
  return columns;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  const std::size_t room = std::max<std::size_t>(width > indent ? width - indent : 0, 20);
  std::string result;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    std::size_t taken = line.size();
    if (columns_of(line) > room) {
      const auto blank = line.substr(0, beginning(line, room).size() + 1).rfind(' ');
      taken = blank != std::string_view::npos && blank > 0 ? blank : line.find(' ');
      if (taken == std::string_view::npos) taken = line.size();
      line = line.substr(0, taken);
    }
    if (!line.empty()) result.append(indent, ' ').append(line);
    result += '\n';
    text.remove_prefix(taken);
    if (!text.empty()) text.remove_prefix(text[0] == ' ' || text[0] == '\n' ? 1 : 0);
  }
  return result;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  for (;;) {
    const std::size_t end = list.find(',');
    items.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return items;
    list.remove_prefix(end + 1);
  }
}

std::string painted(std::string_view text, Colour colour, Charset charset) {
  constexpr std::array<std::string_view, 6> kCodes = {"", "2", "1", "31", "33", "32"};
  if (!charset.colour || colour == Colour::kPlain || text.empty()) return std::string(text);
  std::string result = "\033[";
  result += kCodes.at(static_cast<std::size_t>(colour));
  return result.append("m").append(text).append("\033[0m");
}

const Glyphs& glyphs_of(Charset charset) {
  static constexpr Glyphs kUnicode = {
      .ellipsis = "…",
      .dash = "–",
      .minus = "−",
      .dot = "·",
      .about = "~",
      .bar_begin = "▕",
      .bar_end = "▏",
      .bar_used = "█",
      .bar_granted = "▒",
      .bar_free = "░",
  };
  static constexpr Glyphs kAscii = {
      .ellipsis = "..",
      .dash = "-",
      .minus = "-",
      .dot = "|",
      .about = "~",
      .bar_begin = "[",
      .bar_end = "]",
      .bar_used = "#",
      .bar_granted = "=",
      .bar_free = ".",
  };
  return charset.unicode ? kUnicode : kAscii;
}

}  // namespace berth::cli
