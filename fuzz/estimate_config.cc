// SPDX-License-Identifier: Apache-2.0
// Configs of models as others write them: what is refused says why; of what is accepted more
// sequences never take less, and the largest batch fits where the next one does not.
#include <string>

#include "estimate/memory.h"
#include "estimate/model_shape.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace estimate = berth::estimate;
  const auto shape = estimate::parse_model_config(berth::fuzz::text_of(data, size));
  if (!shape.ok()) {
    CHECK(!shape.error().message.empty());
    return 0;
  }
  estimate::Training training{.batch = 1, .sequence = 1U << 24U};
  const estimate::Estimate one = estimate::estimate_training(*shape, training);
  training.batch = 1U << 20U;
  const estimate::Estimate many = estimate::estimate_training(*shape, training);
  CHECK(one.peak >= one.weights && many.peak >= one.peak);
  CHECK(many.activations.attention >= one.activations.attention);
  const berth::Bytes room = berth::gib(80);
  training.sequence = 64;
  training.batch = estimate::largest_batch(*shape, training, room);
  if (training.batch > 0) CHECK(estimate::estimate_training(*shape, training).peak <= room);
  return 0;
}
