// SPDX-License-Identifier: Apache-2.0
#include "train/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/bare_size.h"
#include "base/number.h"
#include "base/quantity.h"
#include "train/gpt2_shape.h"
#include "train/loss_scale.h"

namespace berth::train {
namespace {

using Slot =
    std::variant<std::uint32_t*, std::uint64_t*, double*, bool*, std::string*, Schedule*, Mode*,
                 PredictorKind*, Scheduler*, OptimizerKind*, Precision*, Device*, Offload*>;

struct Key {
  std::string_view name;
  Slot slot;
  // Of numbers.
  double least = 0;
  double most = std::numeric_limits<double>::max();
};

constexpr double kCountMax = std::numeric_limits<std::uint32_t>::max();

std::array<Key, 62> keys_of(Settings& s) {
  return {{
      {"run.model", &s.model},
      {"run.text", &s.text},
      {"run.weights", &s.weights},
      {"run.folder", &s.folder},
      {"run.seed", &s.seed},
      {"run.device", &s.hybrid.device},
      {"run.threads", &s.threads, 0, 1024},
      {"data.rows", &s.rows, 1, 65'536},
      {"data.columns", &s.columns, 2, 65'536},
      {"data.micro_rows", &s.hybrid.micro_rows, 0, 65'536},
      {"data.recompute", &s.recompute},
      {"data.precision", &s.precision},
      {"data.loss_scale", &s.hybrid.loss_scale, 0, LossScale::kMost},
      {"data.held_out", &s.held_out, 0.001, 0.9},
      {"validate.every", &s.validate_every, 0, kCountMax},
      {"validate.rows", &s.validate_rows, 1, 65'536},
      {"checkpoint.every", &s.checkpoint_every, 0, kCountMax},
      {"checkpoint.minutes", &s.checkpoint_minutes, 0, 1e6},
      {"checkpoint.keep", &s.checkpoint_keep, 1, 1000},
      {"checkpoint.background", &s.checkpoint_background},
      {"checkpoint.http", &s.checkpoint_http},
      {"memory.budget", &s.memory_budget},
      {"lease.vram", &s.lease_vram},
      {"lease.wait_minutes", &s.lease_wait, 0, 1e6},
      {"lease.grace_minutes", &s.lease_grace, 0, 1e6},
      {"rate.steps", &s.hybrid.schedule.steps, 1, kCountMax},
      {"rate.schedule", &s.hybrid.schedule.shape},
      {"rate.rate", &s.hybrid.schedule.rate, 1e-12, 10},
      {"rate.warmup_steps", &s.hybrid.schedule.warmup_steps, 0, kCountMax},
      {"rate.decay_share", &s.hybrid.schedule.decay_share, 0, 1},
      {"rate.min_share", &s.hybrid.schedule.rate_min_share, 0, 1},
      {"optimizer.kind", &s.hybrid.optimizer.kind},
      {"optimizer.offload", &s.offload},
      {"optimizer.momentum", &s.hybrid.optimizer.momentum, 0, 0.999999},
      {"adamw.beta1", &s.hybrid.optimizer.adamw.beta1, 0, 0.999999},
      {"adamw.beta2", &s.hybrid.optimizer.adamw.beta2, 0, 0.999999},
      {"adamw.epsilon", &s.hybrid.optimizer.adamw.epsilon, 1e-30, 1},
      {"adamw.decay", &s.hybrid.optimizer.adamw.decay, 0, 10},
      {"adamw.clip", &s.hybrid.clip, 0, 1e6},
      {"average.decay", &s.hybrid.average_decay, 0, 0.999999},
      {"lookahead.steps", &s.hybrid.lookahead.steps, 0, 0.95},
      {"lookahead.decay", &s.hybrid.lookahead.decay, 0, 0.999999},
      {"predict.mode", &s.hybrid.mode},
      {"predict.predictor", &s.hybrid.predictor},
      {"predict.scheduler", &s.hybrid.scheduler},
      {"predict.worth_min", &s.hybrid.speedup_min, 0, 4},
      {"predict.trial_rows", &s.trial_rows, 1, 16},
      {"predict.warmup_steps", &s.hybrid.phases.warmup_steps, 0, kCountMax},
      {"predict.full_steps", &s.hybrid.phases.full_steps, 1, kCountMax},
      {"predict.steps_max", &s.hybrid.phases.predict_steps_max, 1, 10'000},
      {"predict.correct_steps", &s.hybrid.phases.correct_steps, 0, kCountMax},
      {"predict.correction_interval", &s.hybrid.phases.correction_interval, 0, kCountMax},
      {"predict.consecutive_max", &s.hybrid.phases.consecutive_max, 1, kCountMax},
      {"predict.confidence_min", &s.hybrid.phases.confidence_min, 0,
       PhaseController::kConfidenceMost},
      {"predict.only_stable_rate", &s.hybrid.phases.only_stable_rate},
      {"monitor.deviation_max", &s.hybrid.divergence.deviation_max, 0.1, 1e6},
      {"monitor.explosion_factor", &s.hybrid.divergence.explosion_factor, 1.1, 1e9},
      {"monitor.vanishing_factor", &s.hybrid.divergence.vanishing_factor, 0, 0.9},
      {"recovery.snapshot_every", &s.hybrid.snapshot_every, 0, kCountMax},
      {"recovery.rollbacks_max", &s.hybrid.recovery.rollbacks_max, 0, 1000},
      {"recovery.rate_factor", &s.hybrid.recovery.rate_factor, 0.001, 1},
      {"recovery.clean_steps", &s.hybrid.recovery.clean_steps, 1, kCountMax},
  }};
}

std::string shown(double number) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

std::optional<double> number_in(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// What would be right; empty if the value was set.
struct Reader {
  const Key& key;
  std::string_view text;

  std::string range() const {
    return " from " + shown(key.least) +
           (key.most < std::numeric_limits<double>::max() ? " to " + shown(key.most) : " on");
  }
  std::string operator()(double* place) const {
    const auto number = number_in(text);
    if (!number || *number < key.least || *number > key.most) return "a number" + range();
    *place = *number;
    return "";
  }
  template <class Whole>
  std::string whole(Whole* place) const {
    const auto number = parse_number<Whole>(text);
    const auto wide = static_cast<double>(number.value_or(0));
    if (!number || wide < key.least || wide > key.most) return "a whole number" + range();
    *place = *number;
    return "";
  }
  std::string operator()(std::uint32_t* place) const { return whole(place); }
  std::string operator()(std::uint64_t* place) const { return whole(place); }
  std::string operator()(bool* place) const {
    if (text != "true" && text != "false") return "true or false";
    *place = text == "true";
    return "";
  }
  std::string operator()(std::string* place) const {
    *place = text;
    return "";
  }
  template <class Choice>
  std::string operator()(Choice* place) const {
    const std::optional<Choice> choice = parse_word<Choice>(text);
    if (choice) *place = *choice;
    return choice ? "" : choices<Choice>();
  }
};

struct Writer {
  std::string operator()(const double* place) const { return shown(*place); }
  std::string operator()(const std::uint32_t* place) const { return std::to_string(*place); }
  std::string operator()(const std::uint64_t* place) const { return std::to_string(*place); }
  std::string operator()(const bool* place) const { return *place ? "true" : "false"; }
  std::string operator()(const std::string* place) const { return *place; }
  template <class Choice>
  std::string operator()(const Choice* place) const {
    return std::string(berth::to_text(*place));
  }
};

Error wrong(std::string message) {
  return {Errc::kInvalid, std::move(message)};
}

}  // namespace

Status set(Settings& settings, std::string_view name, std::string_view value) {
  const auto keys = keys_of(settings);
  const auto* key = std::ranges::find(keys, name, &Key::name);
  if (key == keys.end()) {
    std::vector<std::string_view> names;
    names.reserve(keys.size());
    for (const Key& known : keys) names.push_back(known.name);
    return unknown_key(name, names);
  }
  const std::string right = std::visit(Reader{*key, value}, key->slot);
  if (right.empty()) return Unit{};
  std::string message(name);
  message.append(": '").append(value).append("' is not ").append(right);
  return wrong(std::move(message));
}

Status check(const Settings& settings) {
  const auto shape = gpt2_shape(settings.model);
  if (!shape) {
    return wrong("run.model: '" + settings.model + "' is not " + std::string(gpt2_names()));
  }
  if (settings.text.empty()) return wrong("run.text: name the file that is to be learnt");
  if (settings.folder.empty() &&
      (settings.checkpoint_every > 0 || settings.checkpoint_minutes > 0 ||
       !settings.checkpoint_http.empty())) {
    return wrong("run.folder: name the folder in which checkpoints are to be kept");
  }
  if (settings.hybrid.predictor == PredictorKind::kAdam &&
      settings.hybrid.optimizer.kind != OptimizerKind::kAdamW) {
    return wrong(
        "predict.predictor: adam goes on as optimizer.kind 'adamw' would, and as no other");
  }
  if (settings.hybrid.lookahead.steps > 0 && settings.hybrid.mode != Mode::kOff) {
    return wrong(
        "lookahead.steps: goes on where the last steps went, as predicted steps do: it wants "
        "predict.mode 'off'");
  }
  if (!LossScale::is_possible(settings.hybrid.loss_scale)) {
    return wrong("data.loss_scale: '" + shown(settings.hybrid.loss_scale) +
                 "' is neither 0 nor a power of two up to " + shown(LossScale::kMost));
  }
  if (settings.precision == Precision::kFp16 && settings.hybrid.device == Device::kCpu) {
    return wrong("data.precision: fp16 is for GPUs (run.device 'cuda'); CPUs have bf16");
  }
  for (const auto& [key, text] : {std::pair("lease.vram", &settings.lease_vram),
                                  std::pair("memory.budget", &settings.memory_budget)}) {
    if (text->empty()) continue;
    const Result<Bytes> bytes = parse_bytes(*text);
    if (!bytes.ok()) return wrong(std::string(key) + ": " + bytes.error().message);
    if (*bytes == Bytes{}) return wrong(std::string(key) + ": nothing would fit into nothing");
    if (const auto meant = meant_by_bare_size(*text)) {
      return wrong(std::string(key) + ": a size needs a unit; did you mean '" + *meant + "'?");
    }
  }
  if (settings.columns > shape->context) {
    return wrong("data.columns: " + settings.model + " reads " + std::to_string(shape->context) +
                 " tokens in a row at most");
  }
  return Unit{};
}

bool moves_weights(std::string_view key) {
  constexpr std::array<std::string_view, 6> kKeys = {"run.folder",        "run.text",
                                                     "run.weights",       "data.recompute",
                                                     "optimizer.offload", "memory.budget"};
  constexpr std::array<std::string_view, 3> kSections = {"validate.", "checkpoint.", "lease."};
  const auto is_in = [&](std::string_view section) { return key.starts_with(section); };
  return std::ranges::find(kKeys, key) == kKeys.end() && std::ranges::none_of(kSections, is_in);
}

std::vector<KeyAndValue> values_of(const Settings& settings) {
  Settings copy = settings;
  std::vector<KeyAndValue> all;
  for (const Key& key : keys_of(copy)) {
    all.push_back({.key = key.name, .value = std::visit(Writer{}, key.slot)});
  }
  return all;
}

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  TRY(found, split_key_words(words, {"--help", "-h", "--resume"}));
  if (found.others.size() > 1) {
    return wrong("one file of settings: '" + std::string(found.others.front()) + "'");
  }
  Arguments arguments{.keys = std::move(found.keys)};
  if (!found.others.empty()) arguments.file = found.others.front();
  for (const std::string_view flag : found.flags) {
    (flag == "--resume" ? arguments.resume : arguments.help) = true;
  }
  return arguments;
}

}  // namespace berth::train
