// SPDX-License-Identifier: Apache-2.0
#include "train/gpt2_shape.h"

#include <array>

namespace berth::train {
namespace {

struct Named {
  std::string_view name;
  Gpt2Shape shape;
};

constexpr std::int64_t kBytes = 256;
constexpr std::int64_t kTokens = 50257;
constexpr std::array<Named, 6> kShapes = {{
    {"nano", {.layers = 4, .heads = 4, .width = 96, .context = 64, .vocabulary = kBytes}},
    {"micro", {.layers = 6, .heads = 6, .width = 192, .context = 128, .vocabulary = kBytes}},
    {"small", {.layers = 12, .heads = 12, .width = 768, .context = 1024, .vocabulary = kTokens}},
    {"medium", {.layers = 24, .heads = 16, .width = 1024, .context = 1024, .vocabulary = kTokens}},
    {"large", {.layers = 36, .heads = 20, .width = 1280, .context = 1024, .vocabulary = kTokens}},
    {"xl", {.layers = 48, .heads = 25, .width = 1600, .context = 1024, .vocabulary = kTokens}},
}};

}  // namespace

std::optional<Gpt2Shape> gpt2_shape(std::string_view name) {
  for (const Named& named : kShapes) {
    if (named.name == name) return named.shape;
  }
  return std::nullopt;
}

std::string_view gpt2_names() {
  return "nano, micro, small, medium, large or xl";
}

std::int64_t parameter_count(const Gpt2Shape& shape) {
  const std::int64_t width = shape.width;
  const std::int64_t norm = 2 * width;
  const std::int64_t attention = 3 * width * width + 3 * width + width * width + width;
  const std::int64_t feed_forward = 4 * width * width + 4 * width + 4 * width * width + width;
  const std::int64_t layer = 2 * norm + attention + feed_forward;
  return (shape.vocabulary + shape.context) * width + shape.layers * layer + norm;
}

}  // namespace berth::train
