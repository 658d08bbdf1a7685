// SPDX-License-Identifier: Apache-2.0
// `berth estimate`: how much GPU memory training a model takes, before it is tried. No daemon and
// no GPU is asked.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/quantity.h"
#include "cli/model_file.h"
#include "cli/output_mode.h"
#include "cli/render/table.h"
#include "cli/render/text.h"
#include "cli/verbs.h"
#include "estimate/memory.h"

namespace berth::cli {
namespace {

struct EstimateArgs {
  std::string path;
  std::optional<Bytes> room;
  estimate::Precision precision = estimate::Precision::kFull;
  TrainingWords training;
  bool checkpointing = false;
};

estimate::Training training_of(const EstimateArgs& asked) {
  using estimate::Checkpointing;
  return {.batch = asked.training.batch.value_or(1),
          .sequence = asked.training.sequence.value_or(1'024),
          .precision = asked.precision,
          .optimizer = asked.training.optimizer,
          .attention = asked.training.attention,
          .checkpointing = asked.checkpointing ? Checkpointing::kLayers : Checkpointing::kNone};
}

struct Estimated {
  ModelFile model;
  estimate::Training training;
  estimate::Estimate estimate;
  std::optional<Bytes> room;
  std::optional<std::uint64_t> largest_batch;

  bool knows_activations() const { return model.shape.has_value(); }
};

std::string estimate_json(const Estimated& all) {
  const auto known = [&](Bytes bytes) {
    return all.knows_activations() ? std::optional(bytes) : std::nullopt;
  };
  const estimate::Activations& activations = all.estimate.activations;
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/estimate/v1");
  writer.key("model").text(all.model.path).key("parameters").number(all.estimate.parameters);
  writer.key("batch").number(all.training.batch).key("sequence").number(all.training.sequence);
  writer.key("precision").text(to_text(all.training.precision));
  writer.key("optimizer").text(to_text(all.training.optimizer));
  writer.key("weights_bytes").bytes(all.estimate.weights);
  writer.key("gradients_bytes").bytes(all.estimate.gradients);
  writer.key("optimizer_bytes").bytes(all.estimate.optimizer);
  writer.key("activations_bytes").bytes(known(activations.total()));
  writer.key("norms_bytes").bytes(known(activations.norms));
  writer.key("attention_bytes").bytes(known(activations.attention));
  writer.key("feed_forward_bytes").bytes(known(activations.feed_forward));
  writer.key("output_bytes").bytes(known(activations.output));
  writer.key("half_copies_bytes").bytes(known(activations.half_copies));
  writer.key("peak_bytes").bytes(known(all.estimate.peak));
  writer.key("room_bytes").bytes(all.room);
  writer.key("fits");
  if (all.room && all.knows_activations()) {
    writer.boolean(all.estimate.peak <= *all.room);
  } else {
    writer.null();
  }
  writer.key("largest_batch");
  if (all.largest_batch) {
    writer.number(*all.largest_batch);
  } else {
    writer.null();
  }
  return writer.end_object().take();
}

std::string estimate_text(const Estimated& all, Charset charset) {
  const estimate::Activations& activations = all.estimate.activations;
  std::vector<std::pair<std::string, std::string>> lines = {
      {"parameters", std::to_string(all.estimate.parameters)},
      {"weights", to_text(all.estimate.weights)},
      {"gradients", to_text(all.estimate.gradients)},
      {"optimizer", to_text(all.estimate.optimizer)}};
  if (all.knows_activations()) {
    lines.insert(lines.end(), {{"activations", to_text(activations.total())},
                               {"  norms", to_text(activations.norms)},
                               {"  attention", to_text(activations.attention)},
                               {"  feed-forward", to_text(activations.feed_forward)},
                               {"  output", to_text(activations.output)},
                               {"  fp16 copies", to_text(activations.half_copies)},
                               {"peak", to_text(all.estimate.peak)}});
  } else {
    lines.emplace_back("activations", "unknown: name the model's config.json");
  }
  Table table{.columns = {{.title = ""}, {.title = ""}}, .rows = {}, .header = false};
  for (auto& [name, value] : lines) table.rows.push_back({{.text = name}, {.text = value}});
  std::string text = render(std::move(table), std::nullopt, charset);
  if (!all.knows_activations()) return text;
  text += "Sequences of " + std::to_string(all.training.sequence) + ", " +
          std::to_string(all.training.batch) + " at once. The driver's context (some 500 MiB) " +
          "comes on top.\n";
  if (!all.room) return text;
  const bool fits = all.estimate.peak <= *all.room;
  text += (fits ? "It fits into " : "It does not fit into ") + to_text(*all.room);
  if (const std::uint64_t most = all.largest_batch.value_or(0); most > 0) {
    text += "; batch size " + std::to_string(most) + " is the largest that fits";
  }
  return text + ".\n";
}

void declare_estimate(Invocation& invocation, EstimateArgs& asked) {
  Options& options = invocation.options;
  asked.training.declare(options, "sequences at once; 1");
  options.add("-m,--vram=SIZE", store(asked.room),
              "memory of the GPU: says whether it fits, and what would");
  options.add("--precision=WORD", store(asked.precision), "of weights and activations",
              {"fp32", "mixed", "bf16", "fp16"});
  options.add("--checkpointing", store(asked.checkpointing),
              "layers are computed again when needed");
  options.operand("MODEL", store(asked.path),
                  "config.json, a .safetensors file, or the directory of both");
}

}  // namespace

int run_estimate(Invocation& invocation) {
  OutputMode output_mode(invocation);
  EstimateArgs asked;
  invocation.about =
      "From the config of a transformer of GPT-2's or Llama's kind; from files of tensors alone, "
      "what weights, gradients and optimizer take. Ends with 0, and with -m with 1 if it does not "
      "fit. No GPU is used.";
  invocation.examples = {
      {"berth estimate config.json --batch 8 --sequence 512", "one step of training"},
      {"berth estimate config.json -m 16G --precision mixed", "whether it fits, and what would"}};
  declare_estimate(invocation, asked);
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  if (const std::string wrong = asked.training.wrong(); !wrong.empty()) {
    return invocation.usage_error(wrong);
  }
  Result<ModelFile> model = read_model(asked.path);
  if (!model.ok()) return fail_to_read(invocation, model.error());
  Estimated all{.model = *std::move(model),
                .training = training_of(asked),
                .estimate = {},
                .room = asked.room,
                .largest_batch = {}};
  if (const auto& shape = all.model.shape) {
    all.estimate = estimate::estimate_training(*shape, all.training);
    if (asked.room) {
      all.largest_batch = estimate::largest_batch(*shape, all.training, *asked.room);
    }
  } else {
    all.estimate = estimate::estimate_states(all.model.parameters, all.training);
  }
  const int status = output_mode.show(estimate_text(all, Charset{}), estimate_json(all));
  const bool too_large = asked.room && all.estimate.peak > *asked.room;
  return status == 0 && too_large ? to_status(ExitCode::kFailed) : status;
}

}  // namespace berth::cli
