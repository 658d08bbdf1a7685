// SPDX-License-Identifier: Apache-2.0
#include "trainer/run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <numeric>
#include <utility>

#include "base/present.h"
#include "train/gpt2_shape.h"
#include "trainer/checkpoint_door.h"
#include "trainer/corpus.h"
#include "trainer/hybrid_trainer.h"
#include "trainer/memory.h"
#include "trainer/moment.h"
#include "trainer/record.h"
#include "trainer/saver.h"
#include "trainer/threads.h"
#include "trainer/weights.h"

namespace berth::trainer {
namespace {

constexpr std::size_t kLossesShown = 20;
constexpr std::int64_t kValidationRows = 16;  // At a time.

std::string four_digits(double number) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.4f", number);
  return {text.data(), static_cast<std::size_t>(std::clamp(length, 0, 31))};
}

class Run {
 public:
  Run(const train::Settings& settings, const RunControl& control, Corpus corpus, Record record)
      : settings_(settings),
        control_(control),
        corpus_(std::move(corpus)),
        record_(std::move(record)),
        model_(shape_of(settings)),
        trainer_(
            initialized(model_, settings.seed),
            [this](const Batch& batch) { return model_.loss(batch); }, settings.hybrid,
            corpus_.trial(settings.trial_rows)) {}

  Result<Summary> all() {
    model_.set_recompute(settings_.recompute);
    model_.set_bfloat16(settings_.precision == train::Precision::kBf16);
    trainer_.set_last_resort([this] { return take_less(); });
    TRY_STATUS(take_given_weights());
    TRY_STATUS(open_checkpoints());
    begun_at_ = trainer_.steps_done();
    record_.begin(settings_);
    reset_tensor_memory_peak();
    const std::uint64_t steps = settings_.hybrid.schedule.steps;
    Status outcome = Unit{};
    while (outcome.ok() && trainer_.steps_done() < steps && !is_stopped()) outcome = one_step();
    summary_.steps = trainer_.steps_done();
    summary_.totals = trainer_.totals();
    summary_.loss = std::reduce(losses_.begin(), losses_.end()) /
                    static_cast<double>(std::max<std::size_t>(1, losses_.size()));
    summary_.memory = tensor_memory().now;
    summary_.memory_peak = tensor_memory().peak;
    summary_.stopped = is_stopped();
    if (summary_.stopped && saver_ && saved_step_ != summary_.steps) TRY_STATUS(save());
    if (outcome.ok()) validate();
    record_.end(summary_);
    TRY_STATUS(record_.finish());
    TRY_STATUS(outcome);
    return summary_;
  }

 private:
  static train::Gpt2Shape shape_of(const train::Settings& settings) {
    const auto shape = train::gpt2_shape(settings.model);
    return present(shape);
  }
  static Gpt2& initialized(Gpt2& model, std::uint64_t seed) {
    model.initialize(seed);
    return model;
  }
  bool is_stopped() const { return is_to_end_ || (control_.stop != nullptr && *control_.stop); }

  Status one_step() {
    const Duration begin = moment();
    const std::uint64_t place = corpus_.position();
    const Batch batch = trainer_.wants_batch() ? corpus_.next() : Batch{};
    const Result<StepReport> made = trainer_.step(batch);
    if (!made.ok()) return dying(made.error(), place);
    const StepReport& report = *made;
    summary_.training = summary_.training + since(begin);
    note(report);
    const std::uint32_t every = settings_.validate_every;
    if (every > 0 && trainer_.steps_done() % every == 0) validate();
    return save_if_due();
  }

  // The step was not made, and its batch is still to come. What a run that has come apart for
  // another reason would save is of no use.
  Error dying(Error why, std::uint64_t place) {
    if (why.code != Errc::kExhausted || !saver_) return why;
    corpus_.seek(place);
    const auto saved = saver_->save(trainer_, corpus_, settings_, checkpoint::Slot::kEmergency);
    why.message += saved.ok() ? "; saved in " + *saved + ", --resume goes on from there"
                              : "; it could not be saved: " + saved.error().message;
    return why;
  }

  // When not even one row fits.
  bool take_less() {
    if (model_.recomputes()) return false;
    say("out of memory: from here on layers are computed again in the backward pass");
    model_.set_recompute(true);
    return true;
  }

  // A run that goes on has its own.
  Status take_given_weights() {
    if (settings_.weights.empty() || control_.resume) return Unit{};
    TRY_STATUS(read_weights(settings_.weights, model_));
    trainer_.begin_with_these_weights();
    return Unit{};
  }

  Status open_checkpoints() {
    if (settings_.folder.empty()) return Unit{};
    saved_at_ = moment();
    if (control_.resume) {
      TRY(restored, restore(settings_.folder, trainer_, corpus_, settings_));
      for (const std::string& passed_over : restored.passed_over) say("passed over " + passed_over);
      say("going on from " + restored.path);
    } else if (has_checkpoints(settings_.folder)) {
      return Error{Errc::kConflict, settings_.folder +
                                        " holds the checkpoints of an earlier run: --resume goes "
                                        "on with it; another one wants a folder of its own"};
    }
    TRY(saver, Saver::open(settings_.folder, settings_.checkpoint_keep));
    saver_.emplace(std::move(saver));
    if (settings_.checkpoint_http.empty()) return Unit{};
    TRY(door, CheckpointDoor::open(settings_.checkpoint_http));
    say("POST http://127.0.0.1:" + std::to_string(door.port()) + "/checkpoint saves");
    door_.emplace(std::move(door));
    return Unit{};
  }

  Status save() {
    TRY(path, present(saver_).save(trainer_, corpus_, settings_, checkpoint::Slot::kRegular));
    summary_.checkpoint = path;
    saved_at_ = moment();
    saved_step_ = trainer_.steps_done();
    return Unit{};
  }

  bool is_save_due() const {
    const std::uint32_t every = settings_.checkpoint_every;
    const double minutes = settings_.checkpoint_minutes;
    return (every > 0 && trainer_.steps_done() % every == 0) ||
           (minutes > 0 && static_cast<double>(since(saved_at_).ns) >= minutes * 60e9);
  }

  // One that somebody asked for and that fails is theirs to hear of; the run goes on.
  Status save_if_due() {
    if (is_save_due()) TRY_STATUS(save());
    while (door_) {
      auto caller = door_->poll();
      if (!caller) break;
      caller->answer(save_for_others());
    }
    while (control_.coordination != nullptr) {
      const std::optional<Ask> ask = control_.coordination->next_ask();
      if (!ask) break;
      is_to_end_ = is_to_end_ || ask->kind == Ask::Kind::kSaveAndEnd;
      control_.coordination->answer(*ask, save_for_others());
    }
    return Unit{};
  }
  Result<std::string> save_for_others() {
    if (!saver_) return Error{Errc::kInvalid, "run.folder is not set: there is nowhere to save to"};
    TRY_STATUS(save());
    return summary_.checkpoint;
  }

  void say(const std::string& text) const {
    if (control_.say) control_.say(text);
  }

  void note(const StepReport& report) {
    if (!report.predicted) {
      tokens_ += static_cast<double>(settings_.rows * settings_.columns);
      losses_.push_back(report.loss);
      if (losses_.size() > kLossesShown) losses_.pop_front();
    }
    const Bytes memory = tensor_memory().now;
    record_.step(report, summary_.training, memory);
    const auto ns = static_cast<double>(summary_.training.ns);
    const Duration left = time_left();
    if (control_.coordination != nullptr) {
      control_.coordination->tell({.done = trainer_.steps_done(),
                                   .total = settings_.hybrid.schedule.steps,
                                   .left = left,
                                   .note = "loss " + four_digits(report.loss)});
    }
    if (!control_.progress) return;
    control_.progress({.report = report,
                       .steps = settings_.hybrid.schedule.steps,
                       .tokens_per_second = tokens_ / std::max(ns / 1e9, 1e-9),
                       .left = left,
                       .memory = memory});
  }

  // By what the steps of this process took: a run that goes on has made others before.
  Duration time_left() const {
    const auto made = static_cast<double>(trainer_.steps_done() - begun_at_);
    const auto rest = static_cast<double>(settings_.hybrid.schedule.steps - trainer_.steps_done());
    return {static_cast<std::int64_t>(static_cast<double>(summary_.training.ns) / made * rest)};
  }

  void validate() {
    summary_.validation_loss = validation_loss();
    if (trainer_.averages()) {
      trainer_.with_average([this] { summary_.average_loss = validation_loss(); });
    }
    record_.validation(trainer_.steps_done(), summary_);
  }

  double validation_loss() {
    const Batch all = corpus_.validation(settings_.validate_rows);
    double sum = 0;
    for (std::int64_t row = 0; row < all.rows(); row += kValidationRows) {
      const std::int64_t rows = std::min(kValidationRows, all.rows() - row);
      sum += static_cast<double>(rows) *
             trainer_.evaluate({.inputs = all.inputs.narrow(0, row, rows),
                                .targets = all.targets.narrow(0, row, rows)});
    }
    return sum / static_cast<double>(all.rows());
  }

  const train::Settings& settings_;
  const RunControl& control_;
  Corpus corpus_;
  Record record_;
  Gpt2 model_;
  HybridTrainer trainer_;
  std::optional<Saver> saver_;
  std::optional<CheckpointDoor> door_;
  Duration saved_at_;  // Or when the run began.
  std::optional<std::uint64_t> saved_step_;
  std::uint64_t begun_at_ = 0;  // So many steps were made before this process.
  bool is_to_end_ = false;      // Somebody else said so.
  Summary summary_;
  std::deque<double> losses_;
  double tokens_ = 0;
};

}  // namespace

Result<Summary> run_training(const train::Settings& settings, const RunControl& control) {
  TRY_STATUS(train::check(settings));
  if (control.resume && settings.folder.empty()) {
    return Error{Errc::kInvalid, "run.folder: name the folder of the run that is to go on"};
  }
  count_tensor_memory();
  set_threads(settings.threads);
  const auto shape = train::gpt2_shape(settings.model);
  TRY(corpus, Corpus::open({.path = settings.text,
                            .rows = settings.rows,
                            .columns = settings.columns,
                            .seed = settings.seed,
                            .held_out = settings.held_out,
                            .vocabulary = present(shape).vocabulary}));
  TRY(record, Record::open(settings.folder));
  Result<Summary> summary = Summary{};
  TRY_STATUS(caught(
      [&] { summary = Run(settings, control, std::move(corpus), std::move(record)).all(); }));
  return summary;
}

}  // namespace berth::trainer
