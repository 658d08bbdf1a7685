// SPDX-License-Identifier: Apache-2.0
#include "model/history.h"

#include <array>
#include <cstddef>
#include <span>

namespace berth::history {
namespace {

constexpr std::array<std::string_view, 3> kFigures = {"used", "granted", "external"};
constexpr std::array<std::string_view, 3> kKinds = {"device", "lease", "process"};

template <class Value>
std::optional<Value> value_of(std::span<const std::string_view> words, std::string_view word) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Value>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_text(Figure figure) {
  return kFigures.at(static_cast<std::size_t>(figure));
}

std::optional<Figure> parse_figure(std::string_view word) {
  return value_of<Figure>(kFigures, word);
}

std::string_view to_text(Kind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::optional<Kind> parse_kind(std::string_view word) {
  return value_of<Kind>(kKinds, word);
}

}  // namespace berth::history
