// SPDX-License-Identifier: Apache-2.0
#include "cli/render/sparkline.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace berth::cli {
namespace {

constexpr std::size_t kLevels = 8;
constexpr std::array<std::string_view, kLevels> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, kLevels> kAsciiLevels = {"_", ".", ":", "-",
                                                                "=", "+", "*", "#"};

// None has the lowest, and whatever is more than none a higher one.
std::size_t level_of(Bytes figure, Bytes top) {
  if (figure == Bytes{} || top == Bytes{}) return 0;
  const double part = static_cast<double>(figure.value) / static_cast<double>(top.value);
  const auto level = static_cast<std::size_t>(part * static_cast<double>(kLevels));
  return std::clamp<std::size_t>(level, 1, kLevels - 1);
}

}  // namespace

std::string sparkline(std::span<const std::optional<Bytes>> figures, Bytes top, Charset charset) {
  const auto& columns = charset.unicode ? kBlocks : kAsciiLevels;
  std::string line;
  for (const std::optional<Bytes>& figure : figures) {
    line += figure ? columns.at(level_of(*figure, top)) : " ";
  }
  return line;
}

}  // namespace berth::cli
