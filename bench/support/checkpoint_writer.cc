// SPDX-License-Identifier: Apache-2.0
// Saves one model twice: waited for, and in the background. Prints the seconds of the first and
// what a step waits for the second. Usage: checkpoint_writer DIRECTORY MIB
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "berth/checkpoint.h"

namespace {

namespace checkpoint = berth::checkpoint;

constexpr std::size_t kTensors = 16;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int failed(const checkpoint::Failure& failure) {
  (void)std::fprintf(stderr, "%s\n", failure.message.c_str());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 64;
  const std::size_t bytes = std::strtoull(arguments[2], nullptr, 10) << 20U;
  std::vector<std::vector<float>> layers(kTensors);
  checkpoint::Snapshot snapshot;
  for (std::size_t i = 0; i < kTensors; ++i) {
    layers[i].resize(bytes / kTensors / sizeof(float));
    for (std::size_t at = 0; at < layers[i].size(); ++at) {
      layers[i][at] = static_cast<float>(at * 2'654'435'761U);
    }
    snapshot.tensors.push_back({"layer." + std::to_string(i),
                                checkpoint::Dtype::kF32,
                                {layers[i].size()},
                                layers[i].data(),
                                layers[i].size() * sizeof(float)});
  }
  checkpoint::Options options;
  options.directory = arguments[1];
  options.keep_last = 1;
  auto store = checkpoint::Store::open(options);
  if (!store.ok()) return failed(store.failure());
  if (auto reserved = store->reserve(bytes); !reserved.ok()) return failed(reserved.failure());

  const auto start = std::chrono::steady_clock::now();
  const auto saved = store->save(snapshot);
  const double waited = seconds_since(start);
  if (!saved.ok()) return failed(saved.failure());

  const auto asked = std::chrono::steady_clock::now();
  const auto stall = store->save_in_background(snapshot);
  const double stalled = seconds_since(asked);
  if (!stall.ok()) return failed(stall.failure());
  if (auto done = store->wait(); !done.ok()) return failed(done.failure());
  std::printf("%.6f %.6f\n", waited, stalled);
  return 0;
}
