// SPDX-License-Identifier: Apache-2.0
#include "cli/top/background.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/number.h"

namespace berth::cli::top {
namespace {

constexpr std::string_view kColour = "]11;rgb:";
constexpr std::string_view kColourAndAlpha = "]11;rgba:";

// One to four hexadecimal digits, of which as many F are 1.
std::optional<double> part_of(std::string_view digits) {
  if (digits.empty() || digits.size() > 4) return std::nullopt;
  const auto value = parse_number<std::uint32_t>(digits, 16);
  if (!value) return std::nullopt;
  const std::uint32_t whole = (1U << (4 * digits.size())) - 1;
  return static_cast<double>(*value) / whole;
}

// Of sRGB, by WCAG 2.
double linear(double part) {
  return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
}

}  // namespace

std::optional<Background> background_of(std::string_view answer) {
  std::size_t count = 3;
  if (answer.starts_with(kColour)) {
    answer.remove_prefix(kColour.size());
  } else if (answer.starts_with(kColourAndAlpha)) {
    answer.remove_prefix(kColourAndAlpha.size());
    count = 4;
  } else {
    return std::nullopt;
  }
  std::array<double, 4> parts = {};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 == count ? answer.size() : answer.find('/');
    if (end == std::string_view::npos) return std::nullopt;
    const auto part = part_of(answer.substr(0, end));
    if (!part) return std::nullopt;
    parts.at(i) = *part;
    answer.remove_prefix(std::min(end + 1, answer.size()));
  }
  const double luminance =
      0.2126 * linear(parts[0]) + 0.7152 * linear(parts[1]) + 0.0722 * linear(parts[2]);
  // Where black and white are as easy to read on it.
  constexpr double kMiddle = 0.179;
  return luminance > kMiddle ? Background::kLight : Background::kDark;
}

bool is_fence(std::string_view answer) {
  if (!answer.starts_with("[?") || !answer.ends_with('c')) return false;
  answer.remove_prefix(2);
  answer.remove_suffix(1);
  return answer.find_first_not_of("0123456789;") == std::string_view::npos;
}

// The last field is one of the first sixteen colours: grey and bright ones are light.
std::optional<Background> background_by_colorfgbg(std::string_view value) {
  const std::size_t last = value.rfind(';');
  if (last == std::string_view::npos) return std::nullopt;
  const auto colour = parse_number<std::uint32_t>(value.substr(last + 1));
  constexpr std::uint32_t kColours = 16;
  constexpr std::uint32_t kGrey = 7;
  constexpr std::uint32_t kDarkGrey = 8;
  if (!colour || *colour >= kColours) return std::nullopt;
  const bool is_light = *colour >= kGrey && *colour != kDarkGrey;
  return is_light ? Background::kLight : Background::kDark;
}

}  // namespace berth::cli::top
