// SPDX-License-Identifier: Apache-2.0
// `berth recommend`: how to train a model in the memory there is, each setting with its reason. The
// memory is what is named, else the budget of the lease it runs in, else what the daemon's GPUs
// have.
#include <algorithm>
#include <cstdlib>
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
#include "cli/run/environment.h"
#include "cli/verbs.h"
#include "estimate/advice.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

constexpr std::uint32_t kGpusMax = 1'024;

struct RecommendArgs {
  std::optional<std::string> path;
  std::optional<Bytes> size;
  std::optional<std::uint32_t> gpus;
  TrainingWords training;
};

void declare_recommend(Invocation& invocation, RecommendArgs& asked) {
  Options& options = invocation.options;
  options.add("-m,--vram=SIZE", store(asked.size),
              "memory of each GPU; else the lease's budget, else what the GPUs have");
  options.add("-g,--gpus=N", store(asked.gpus), "with -m: how many; 1");
  asked.training.declare(options, "sequences a step, in all; 32");
  options.operand("[MODEL]", store(asked.path),
                  "config.json, or the directory it is in; else: how large one "
                  "may be");
}

// BERTH_VRAM_BYTES, as long as the lease that it came with is held: the variables of a shell
// outlast it. Where no daemon answers it is believed.
std::optional<Bytes> budget_around(DaemonSession& session) {
  const char* const budget = std::getenv("BERTH_VRAM_BYTES");
  const Result<Bytes> bytes = parse_bytes(budget == nullptr ? "" : budget);
  if (!bytes.ok()) return std::nullopt;
  const auto outer = outer_lease();
  if (!outer || session.find() != DaemonSession::Found::kDaemon) return *bytes;
  const auto answer = session.client().connection().ask(
      {.route = wire::Route::kLease, .lease = outer->handle_text});
  const bool is_elsewhere = !answer.ok() && answer.error().code == Errc::kConflict;
  if (!answer.ok() && !is_elsewhere) return *bytes;
  const auto lease = client::told(answer, wire::decode_lease);
  const bool held = lease && (lease->view.state == LeaseState::kHeld ||
                              lease->view.state == LeaseState::kSuspended);
  if (held) return *bytes;
  complain("berth: BERTH_LEASE_ID=" + outer->handle_text +
           " is no lease that is held: its budget does not count\n");
  return std::nullopt;
}

// Nothing where it was said why not.
std::optional<std::vector<Bytes>> memory_of_gpus(const RecommendArgs& asked,
                                                 OutputMode& output_mode) {
  const std::size_t count = asked.gpus.value_or(1);
  if (asked.size) return std::vector<Bytes>(count, *asked.size);
  if (const auto budget = budget_around(output_mode.session())) {
    return std::vector<Bytes>(count, *budget);
  }
  if (!output_mode.open()) return std::nullopt;
  DaemonSession& session = output_mode.session();
  const auto list = session.ask({.route = wire::Route::kDevices}, wire::decode_devices);
  if (!list) return std::nullopt;
  std::vector<Bytes> gpus;
  for (const DeviceView& device : list->list.items) {
    if (device.capacity) gpus.push_back(saturating_sub(*device.capacity, device.held_back));
  }
  if (gpus.empty()) {
    session.fail(ExitCode::kUnavailable,
                 "no GPU tells its size: say it, as in berth recommend -m 16G");
    return std::nullopt;
  }
  return gpus;
}

struct Recommended {
  std::string model;
  estimate::Wish wish;
  std::optional<estimate::Advice> advice;
  std::vector<estimate::Rule> rules;
};

std::string recommend_json(const Recommended& all) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/recommend/v1");
  writer.key("model").text_or_null(all.model);
  writer.key("profile").text(to_text(estimate::profile_of(std::ranges::min(all.wish.gpus))));
  writer.key("gpus").begin_array();
  for (const Bytes each : all.wish.gpus) {
    writer.begin_object().key("vram_bytes").bytes(each).end_object();
  }
  writer.end_array().key("fits");
  if (all.advice) {
    writer.boolean(all.advice->fits).key("batch_per_gpu").number(all.advice->training.batch);
    writer.key("accumulation").number(all.advice->accumulation);
    writer.key("effective_batch").number(all.advice->effective_batch);
    writer.key("peak_bytes").bytes(all.advice->peak);
  } else {
    writer.null();
  }
  writer.key("rules").begin_array();
  for (const estimate::Rule& rule : all.rules) {
    writer.begin_object().key("rule").text(rule.name).key("setting").text(rule.setting);
    writer.key("reason").text(rule.reason).end_object();
  }
  return writer.end_array().end_object().take();
}

std::string recommend_text(const Recommended& all) {
  std::string text =
      std::to_string(all.wish.gpus.size()) + (all.wish.gpus.size() == 1 ? " GPU" : " GPUs") +
      ", the smallest with " + to_text(std::ranges::min(all.wish.gpus)) + " (profile " +
      std::string(to_text(estimate::profile_of(std::ranges::min(all.wish.gpus)))) + ")\n";
  for (const estimate::Rule& rule : all.rules) {
    text += std::string(rule.name) + ": " + rule.setting + "\n    " + rule.reason + "\n";
  }
  return text;
}

}  // namespace

int run_recommend(Invocation& invocation) {
  OutputMode output_mode(invocation);
  RecommendArgs asked;
  invocation.about =
      "Says which batch, accumulation and precision fit, and whether layers must be computed "
      "again, "
      "with the reason for each; the batch of a step stays what was wished for. Ends with 1 if the "
      "model does not fit.";
  invocation.examples = {{"berth recommend config.json -m 16G", "on one GPU of 16 GiB"},
                         {"berth recommend config.json -m 10G -g 4 --batch 64", "on four"},
                         {"berth recommend -m 24G", "how large a model may be"}};
  declare_recommend(invocation, asked);
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  if (const std::string wrong = asked.training.wrong(); !wrong.empty()) {
    return invocation.usage_error(wrong);
  }
  if (asked.gpus == 0U || asked.gpus.value_or(1) > kGpusMax) {
    return invocation.usage_error("between 1 and 1024 GPUs");
  }
  Recommended all;
  std::optional<ModelFile> model;
  if (asked.path) {
    Result<ModelFile> read = read_model(*asked.path);
    if (!read.ok()) return fail_to_read(invocation, read.error());
    if (!read->shape) {
      return invocation.fail(ExitCode::kDataError,
                             read->path + " does not tell layers: name the model's config.json");
    }
    all.model = read->path;
    model = *std::move(read);
  }
  std::optional<std::vector<Bytes>> gpus = memory_of_gpus(asked, output_mode);
  if (!gpus) return output_mode.session().status();
  all.wish = {.gpus = *std::move(gpus),
              .effective_batch = asked.training.batch.value_or(32),
              .sequence = asked.training.sequence.value_or(1'024),
              .optimizer = asked.training.optimizer,
              .attention = asked.training.attention};
  if (model && model->shape) {
    all.advice = estimate::advise(*model->shape, all.wish);
    all.rules = all.advice->rules;
  } else {
    all.rules = estimate::advise_size(all.wish);
  }
  const int status = output_mode.show(recommend_text(all), recommend_json(all));
  const bool too_large = all.advice && !all.advice->fits;
  return status == 0 && too_large ? to_status(ExitCode::kFailed) : status;
}

}  // namespace berth::cli
