// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate.h"

#include <utility>
#include <vector>

#include "train/gpt2_shape.h"
#include "train/sampling.h"
#include "train/shuffle.h"
#include "trainer/gpt2.h"
#include "trainer/saver.h"
#include "trainer/threads.h"
#include "trainer/weights.h"

namespace berth::trainer {
namespace {

constexpr std::int64_t kBytes = 256;

// The last of its tokens that fit into a row, and the logits of what follows.
class Writer {
 public:
  Writer(Gpt2& model, std::int64_t row) : model_(model), row_(static_cast<std::size_t>(row)) {}

  void see(unsigned char token) {
    tokens_.push_back(token);
    if (tokens_.size() > row_) tokens_.erase(tokens_.begin());
  }
  std::vector<float> logits() {
    const auto count = static_cast<std::int64_t>(tokens_.size());
    const at::Tensor inputs = torch::from_blob(tokens_.data(), {1, count}, at::kLong);
    const at::Tensor last = model_.logits(inputs).select(1, count - 1).contiguous();
    const auto* begin = last.data_ptr<float>();
    return {begin, begin + last.numel()};
  }

 private:
  Gpt2& model_;
  std::size_t row_;
  std::vector<std::int64_t> tokens_;
};

Status take_weights(const SavedModel& saved, Gpt2& model) {
  const auto find = [&](const std::string& name) { return saved.loaded.find(name); };
  return copy_weights(saved.loaded.path(), find, model);
}

}  // namespace

Result<std::string> export_weights(const std::string& folder, const std::string& path) {
  TRY(saved, load_model(folder));
  const auto shape = train::gpt2_shape(saved.settings.model);
  if (!shape) return Error{Errc::kInvalid, saved.loaded.path() + ": of an unknown model"};
  Gpt2 model(*shape);
  TRY_STATUS(take_weights(saved, model));
  TRY_STATUS(write_weights(path, model));
  return saved.loaded.path();
}

Result<Generated> generate(const train::GenerateWords& words, const GenerateControl& control) {
  TRY(saved, load_model(words.folder));
  const std::string& path = saved.loaded.path();
  for (const checkpoint::PassedOver& each : saved.loaded.passed_over()) {
    if (control.say) control.say("passed over " + each.path + ": " + each.why);
  }
  const auto shape = train::gpt2_shape(saved.settings.model);
  if (!shape || shape->vocabulary != kBytes) {
    return Error{Errc::kInvalid, path + ": the model " + saved.settings.model +
                                     " reads no bytes, and there is no tokenizer for it"};
  }
  set_threads(words.threads);
  Gpt2 model(*shape);
  TRY_STATUS(take_weights(saved, model));
  const c10::InferenceMode no_graph;
  Writer writer(model, saved.settings.columns);
  for (const char token : words.prompt) writer.see(static_cast<unsigned char>(token));
  control.write(words.prompt);
  Generated generated{.checkpoint = path, .step = saved.loaded.step()};
  while (generated.tokens < words.tokens && (control.stop == nullptr || !*control.stop)) {
    const std::uint64_t drawn = train::mixed(train::mixed(words.seed) ^ generated.tokens);
    const double chance = static_cast<double>(drawn >> 11U) * 0x1p-53;
    const auto next = train::sample(writer.logits(), words.sampling, chance);
    if (!next) return Error{Errc::kInvalid, path + ": what its weights give are no numbers"};
    const char byte = static_cast<char>(static_cast<unsigned char>(*next));
    control.write({&byte, 1});
    writer.see(static_cast<unsigned char>(byte));
    ++generated.tokens;
  }
  return generated;
}

}  // namespace berth::trainer
