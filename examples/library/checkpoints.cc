// SPDX-License-Identifier: Apache-2.0
// A program that keeps checkpoints of a made-up model, and goes on from the newest that is whole:
// checkpoints DIRECTORY STEPS.
#include <berth/checkpoint.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace checkpoint = berth::checkpoint;

namespace {

constexpr std::uint64_t kWeights = 1'000;

int fail(const checkpoint::Failure& failure) {
  std::fprintf(stderr, "checkpoints: %s\n", failure.message.c_str());
  return 1;
}

// The step that the weights are of; 0 where there is no checkpoint yet.
checkpoint::Outcome<std::uint64_t> resume(const std::string& directory,
                                          std::vector<float>& weights) {
  const auto newest = checkpoint::load_newest(directory);
  if (!newest && newest.failure().trouble == checkpoint::Trouble::kNotFound) return std::uint64_t{};
  if (!newest) return newest.failure();
  for (const auto& each : newest->passed_over()) {
    std::printf("passed over: %s: %s\n", each.path.c_str(), each.why.c_str());
  }
  const checkpoint::Tensor* stored = newest->find("weights");
  if (stored == nullptr || stored->bytes != weights.size() * sizeof(float)) {
    return checkpoint::Failure{checkpoint::Trouble::kInvalid, "it is of another model"};
  }
  const auto* values = static_cast<const float*>(stored->data);
  weights.assign(values, values + weights.size());
  return newest->step();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 64;
  const std::string directory = arguments[1];
  std::vector<float> weights(kWeights);
  const auto resumed = resume(directory, weights);
  if (!resumed) return fail(resumed.failure());
  std::printf("from step %llu\n", static_cast<unsigned long long>(*resumed));

  checkpoint::Options options;
  options.directory = directory;
  options.keep_last = 2;
  auto store = checkpoint::Store::open(options);
  if (!store) return fail(store.failure());
  const std::uint64_t end = *resumed + std::strtoull(arguments[2], nullptr, 10);
  for (std::uint64_t step = *resumed + 1; step <= end; ++step) {
    for (float& weight : weights) weight += 1;
    checkpoint::Snapshot now;
    now.step = step;
    now.tensors = {{"weights",
                    checkpoint::Dtype::kF32,
                    {kWeights},
                    weights.data(),
                    weights.size() * sizeof(float)}};
    const auto saved = store->save(now);
    if (!saved) return fail(saved.failure());
  }
  std::printf("weights %g at step %llu\n", static_cast<double>(weights[0]),
              static_cast<unsigned long long>(end));
  return 0;
}
