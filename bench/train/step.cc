// SPDX-License-Identifier: Apache-2.0
// Steps of training GPT-2 small (124 M parameters) with 4 rows of 64 tokens: the trainer's own, in
// 32 bits and with products of matrices in bfloat16, and that of torch::optim::AdamW over the same
// model, in turn. Prints «NAME SECONDS» of each, the median, and the loss of the first forward
// pass. In FOLDER it leaves that model as llm.c reads it, and the tokens, for bench/train/llm_c.
// Usage: bench_training_step FOLDER
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "train/gpt2_shape.h"
#include "train/shuffle.h"
#include "trainer/gpt2.h"
#include "trainer/hybrid_trainer.h"
#include "trainer/machine.h"
#include "trainer/memory.h"
#include "trainer/moment.h"
#include "trainer/weights.h"

// As trainer/libtorch.h has it: with what else it draws in comes a macro of this name.
#pragma push_macro("CHECK")
#undef CHECK
#include <torch/optim/adamw.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace berth::trainer {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kColumns = 64;
constexpr double kRate = 1e-4;
constexpr int kRounds = 7;

train::Gpt2Shape small() {
  const auto shape = train::gpt2_shape("small");
  return present(shape);
}

Batch some_tokens() {
  const at::Tensor tokens = torch::empty({kRows, kColumns + 1}, at::kLong);
  auto* data = tokens.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tokens.numel(); ++i) {
    data[i] = static_cast<std::int64_t>(train::mixed(static_cast<std::uint64_t>(i)) % 50'257);
  }
  return {.inputs = tokens.narrow(1, 0, kColumns).contiguous(),
          .targets = tokens.narrow(1, 1, kColumns).contiguous()};
}

bool leave_for_llm_c(const std::string& folder, const Gpt2& model, const Batch& batch) {
  const Status written = write_weights(folder + "/model.bin", model);
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  std::ofstream file(folder + "/tokens", std::ios::binary);
  for (const at::Tensor& part : {batch.inputs, batch.targets}) {
    const at::Tensor numbers = part.to(at::kInt).contiguous();
    file.write(static_cast<const char*>(numbers.data_ptr()),
               static_cast<std::streamsize>(numbers.nbytes()));
  }
  file.close();
  return written.ok() && file.good();
}

struct Timed {
  std::string name;
  std::function<void()> step;
  std::vector<double> seconds = {};
};

HybridConfig plain() {
  HybridConfig config{.mode = Mode::kOff, .snapshot_every = 0};
  config.schedule = {.shape = train::Schedule::kConstant, .rate = kRate, .warmup_steps = 0};
  return config;
}

/// The trainer's step, over a model of its own.
class Ours {
 public:
  explicit Ours(bool bfloat16)
      : trainer_(
            initialized(model_, bfloat16),
            [this](const Batch& batch) { return model_.loss(batch); }, plain(), some_tokens()) {}
  void step() {
    if (!trainer_.step(batch_).ok()) std::abort();
  }

 private:
  static Gpt2& initialized(Gpt2& model, bool bfloat16) {
    model.initialize(1);
    model.set_precision(bfloat16 ? train::Precision::kBf16 : train::Precision::kFp32);
    return model;
  }
  Gpt2 model_{small()};
  HybridTrainer trainer_;
  Batch batch_ = some_tokens();
};

class Theirs {
 public:
  Theirs() : optimizer_(initialized(model_), torch::optim::AdamWOptions(kRate)) {}
  void step() {
    optimizer_.zero_grad();
    model_.loss(batch_).backward();
    optimizer_.step();
  }

 private:
  static std::vector<at::Tensor> initialized(Gpt2& model) {
    model.initialize(1);
    return model.parameters();
  }
  Gpt2 model_{small()};
  torch::optim::AdamW optimizer_;
  Batch batch_ = some_tokens();
};

int run(const std::string& folder) {
  count_tensor_memory();
  set_threads(0);
  {
    Gpt2 model(small());
    model.initialize(1);
    const Batch batch = some_tokens();
    const c10::InferenceMode no_graph;
    std::printf("loss %.7f\n", model.loss(batch).item<double>());
    if (!leave_for_llm_c(folder, model, batch)) return 1;
  }
  Ours exact(false);
  Ours half(true);
  Theirs theirs;
  std::vector<Timed> all = {{"ours", [&] { exact.step(); }},
                            {"bf16", [&] { half.step(); }},
                            {"torch", [&] { theirs.step(); }}};
  for (int round = 0; round <= kRounds; ++round) {
    for (Timed& each : all) {
      const Duration begin = moment();
      each.step();
      if (round > 0) each.seconds.push_back(static_cast<double>(since(begin).ns) / 1e9);
    }
  }
  for (Timed& each : all) {
    std::ranges::sort(each.seconds);
    std::printf("%s %.4f\n", each.name.c_str(), each.seconds[each.seconds.size() / 2]);
  }
  return 0;
}

}  // namespace
}  // namespace berth::trainer

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: bench_training_step FOLDER\n", stderr);
    return 64;
  }
  return berth::trainer::run(words[1]);
}
