// SPDX-License-Identifier: Apache-2.0
#include "train/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace berth::train {

std::optional<std::size_t> sample(std::span<const float> logits, const SamplingConfig& config,
                                  double chance) {
  std::vector<std::size_t> places;
  places.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) places.push_back(i);
  }
  if (places.empty()) return std::nullopt;
  const auto likelier = [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  const auto likeliest = std::ranges::min_element(places, likelier);
  if (config.temperature <= 0) return *likeliest;
  const double top = logits[*likeliest];
  if (config.top_k > 0 && config.top_k < places.size()) {
    std::ranges::nth_element(places, places.begin() + config.top_k, likelier);
    places.resize(config.top_k);
    std::ranges::sort(places);
  }
  std::vector<double> sums;
  sums.reserve(places.size());
  double sum = 0;
  for (const std::size_t place : places) {
    sum += std::exp((static_cast<double>(logits[place]) - top) / config.temperature);
    sums.push_back(sum);
  }
  const auto found = std::ranges::upper_bound(sums, chance * sum);
  const auto at = std::min(found - sums.begin(), std::ssize(sums) - 1);
  return places[static_cast<std::size_t>(at)];
}

}  // namespace berth::train
