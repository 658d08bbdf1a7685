// SPDX-License-Identifier: Apache-2.0
#include "trainer/generate.h"

#include <utility>
#include <vector>

#include "train/gpt2_shape.h"
#include "train/sampling.h"
#include "train/shuffle.h"
#include "trainer/gpt2.h"
#include "trainer/machine.h"
#include "trainer/saver.h"
#include "trainer/weights.h"

namespace berth::trainer {
namespace {

// The last of its tokens that fit into a row, and the logits of what follows.
class Writer {
 public:
  Writer(Gpt2& model, std::int64_t row) : model_(model), row_(static_cast<std::size_t>(row)) {}

  void see(std::int64_t token) {
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

Result<std::uint64_t> write_on(Gpt2& model, std::int64_t columns, const Tokenizer& tokenizer,
                               const train::GenerateWords& words, const GenerateControl& control) {
  const c10::InferenceMode no_graph;
  Writer writer(model, columns);
  if (const auto end = tokenizer.end_of_text()) writer.see(*end);  // As each text begins.
  TRY_STATUS(tokenizer.encode(words.prompt, [&](std::span<const train::Token> tokens) {
    for (const train::Token token : tokens) writer.see(token);
  }));
  control.write(words.prompt);
  std::uint64_t count = 0;
  while (count < words.tokens && (control.stop == nullptr || !*control.stop)) {
    const std::uint64_t drawn = train::mixed(train::mixed(words.seed) ^ count);
    const double chance = static_cast<double>(drawn >> 11U) * 0x1p-53;
    const auto next = train::sample(writer.logits(), words.sampling, chance);
    if (!next) return Error{Errc::kInvalid, "what its weights give are no numbers"};
    const auto token = static_cast<train::Token>(*next);
    if (token == tokenizer.end_of_text()) break;
    control.write(tokenizer.decode(token));
    writer.see(token);
    ++count;
  }
  return count;
}

Result<Generated> generate(const train::GenerateWords& words, const GenerateControl& control) {
  Tokenizer tokenizer;
  if (!words.ranks.empty()) {
    TRY(opened, Tokenizer::open(words.ranks));
    tokenizer = std::move(opened);
  }
  TRY(saved, load_model(words.folder));
  const std::string& path = saved.loaded.path();
  for (const checkpoint::PassedOver& each : saved.loaded.passed_over()) {
    if (control.say) control.say("passed over " + each.path + ": " + each.why);
  }
  const auto shape = train::gpt2_shape(saved.settings.model);
  if (!shape) return Error{Errc::kInvalid, path + ": of an unknown model"};
  if (shape->vocabulary != tokenizer.vocabulary()) {
    return Error{
        Errc::kInvalid,
        path + ": the model " + saved.settings.model + " knows " +
            std::to_string(shape->vocabulary) + " tokens, and " +
            (words.ranks.empty() ? "of bytes there are 256: name its --ranks"
                                 : words.ranks + " has " + std::to_string(tokenizer.vocabulary()))};
  }
  set_threads(words.threads);
  Gpt2 model(*shape);
  TRY_STATUS(take_weights(saved, model));
  const auto written = write_on(model, saved.settings.columns, tokenizer, words, control);
  if (!written.ok()) return Error{written.error().code, path + ": " + written.error().message};
  return Generated{.checkpoint = path, .step = saved.loaded.step(), .tokens = *written};
}

}  // namespace berth::trainer
