// SPDX-License-Identifier: Apache-2.0
#include "trainer/run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/quantity.h"
#include "train/gpt2_shape.h"
#include "train/loss_scale.h"
#include "train/shuffle.h"
#include "trainer/checkpoint_port.h"
#include "trainer/corpus.h"
#include "trainer/hybrid_trainer.h"
#include "trainer/machine.h"
#include "trainer/memory.h"
#include "trainer/memory_watch.h"
#include "trainer/moment.h"
#include "trainer/peers.h"
#include "trainer/record.h"
#include "trainer/saver.h"
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
  Run(const train::Settings& settings, const RunControl& control, Peers& peers, Corpus corpus,
      Record record)
      : settings_(settings),
        control_(control),
        peers_(peers),
        corpus_(std::move(corpus)),
        record_(std::move(record)),
        model_(shape_of(settings)),
        trainer_(
            initialized(model_, settings.seed),
            [this](const Batch& batch) { return model_.loss(batch); }, hybrid_of(settings),
            corpus_.trial(settings.trial_rows)) {}

  Result<Summary> all() {
    model_.set_recompute(settings_.recompute);
    model_.set_precision(settings_.precision);
    trainer_.set_last_resort([this] { return take_less(); });
    const bool offloads = settings_.offload == train::Offload::kAlways;
    TRY_STATUS(peers_.all_well(offloads ? offload() : Unit{}));
    TRY_STATUS(peers_.all_well(take_given_weights()));
    TRY_STATUS(open_checkpoints());
    TRY_STATUS(trainer_.train_with(peers_));
    TRY_STATUS(peers_.all_well(check_alike()));
    begun_at_ = trainer_.steps_done();
    TRY(stops, peers_.any(is_stopped()));
    is_to_end_ = stops;
    record_.begin(settings_);
    watch_.emplace(device(), budget(),
                   MemoryWatch::Hands{.act = [this](vram::Action action) { return act(action); },
                                      .say = [this](const std::string& text) { say(text); }});
    const std::uint64_t steps = settings_.hybrid.schedule.steps;
    Status outcome = Unit{};
    while (outcome.ok() && trainer_.steps_done() < steps && !is_to_end_) outcome = one_step();
    summary_.steps = trainer_.steps_done();
    summary_.totals = trainer_.totals();
    summary_.loss = std::reduce(losses_.begin(), losses_.end()) /
                    static_cast<double>(std::max<std::size_t>(1, losses_.size()));
    summary_.memory = tensor_memory(device()).now;
    summary_.memory_peak = checked(watch_).peak();
    summary_.stopped = is_to_end_;
    if (outcome.ok()) outcome = save_end();
    if (outcome.ok()) validate();
    record_.end(summary_);
    TRY_STATUS(record_.finish());
    if (!outcome.ok()) return outcome.error();
    return summary_;
  }

 private:
  static train::Gpt2Shape shape_of(const train::Settings& settings) {
    const auto shape = train::gpt2_shape(settings.model);
    return checked(shape);
  }
  static Gpt2& initialized(Gpt2& model, std::uint64_t seed) {
    model.initialize(seed);
    return model;
  }
  static train::HybridConfig hybrid_of(const train::Settings& settings) {
    train::HybridConfig hybrid = settings.hybrid;
    // What fp16 cannot do without.
    const bool needs_scale = settings.precision == train::Precision::kFp16;
    if (needs_scale && hybrid.loss_scale == 0) hybrid.loss_scale = train::LossScale::kUsual;
    return hybrid;
  }
  train::Device device() const { return settings_.hybrid.device; }
  bool is_stopped() const { return control_.stop != nullptr && *control_.stop; }

  // Of what decides the weights, in numbers whose sum over all is exact.
  Status check_alike() {
    constexpr std::uint64_t kHalf = 0xffffffff;
    std::uint64_t sum = corpus_.fingerprint();
    for (const train::KeyAndValue& each : train::values_of(settings_)) {
      if (!train::moves_weights(each.key)) continue;
      for (const char c : each.value + '\n')
        sum = train::mixed(sum ^ static_cast<unsigned char>(c));
    }
    const std::array<double, 3> own = {static_cast<double>(sum & kHalf),
                                       static_cast<double>(sum >> 32U),
                                       static_cast<double>(trainer_.steps_done())};
    std::array<double, 3> all = own;
    TRY_STATUS(peers_.sum(all));
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (all[i] == own[i] * peers_.size()) continue;
      return Error{Errc::kInvalid,
                   "the processes do not begin alike: each needs the same settings and text, and, "
                   "to go on, the same run.folder"};
    }
    return Unit{};
  }

  Status one_step() {
    const Duration begin = moment();
    const std::uint64_t place = corpus_.position();
    const Batch batch = trainer_.wants_batch() ? corpus_.next() : Batch{};
    const Result<StepReport> made = trainer_.step(batch);
    if (!made.ok()) return dying(made.error(), place);
    const StepReport& report = *made;
    summary_.training = summary_.training + since(begin);
    note(report);
    checked(watch_).step();
    const std::uint32_t every = settings_.validate_every;
    if (every > 0 && trainer_.steps_done() % every == 0) validate();
    const Status outcome = between_steps();
    if (!outcome.ok()) return dying(outcome.error(), corpus_.position());
    return Unit{};
  }

  // The step was not made, and its batch is still to come. What a run that has come apart for
  // another reason would save is of no use. Of several processes the first saves; when it is lost,
  // the first that takes its place in the folder.
  Error dying(Error why, std::uint64_t place) {
    const bool lost_others = why.code == Errc::kUnavailable;
    if (!can_save() || (why.code != Errc::kExhausted && !lost_others)) return why;
    if (!peers_.is_first() && !lost_others) return why;
    corpus_.seek(place);
    const Result<std::string> saved = save_in_emergency();
    if (!saved.ok() && saved.error().code == Errc::kConflict) return why;
    why.message += saved.ok() ? "; saved in " + *saved + ", --resume goes on from there"
                              : "; it could not be saved: " + saved.error().message;
    return why;
  }

  Result<std::string> save_in_emergency() {
    if (!saver_) {
      TRY(saver, Saver::open(settings_.folder, settings_.checkpoint_keep));
      saver_.emplace(std::move(saver));
    }
    return saver_->save(trainer_, corpus_, settings_, checkpoint::Slot::kEmergency);
  }

  // When not even one row fits.
  bool take_less() {
    if (!model_.recomputes()) {
      say("out of memory: from here on layers are computed again in the backward pass");
      model_.set_recompute(true);
      return true;
    }
    if (settings_.offload == train::Offload::kNever || trainer_.is_offloaded()) return false;
    const Status made = offload();
    say(made.ok() ? "out of memory: from here on what the optimizer keeps is offloaded"
                  : "out of memory, and nothing could be offloaded: " + made.error().message);
    return made.ok();
  }

  // From a GPU into memory of the host; from there into a file, which the system can write out.
  Status offload() {
    if (device() != train::Device::kCpu) return trainer_.offload("");
    if (can_save()) return trainer_.offload(settings_.folder);
    std::error_code none;
    return trainer_.offload(std::filesystem::temp_directory_path(none).string());
  }

  // What the thresholds of memory are shares of, where it is not the machine's.
  std::optional<Bytes> budget() const {
    const bool has_own = !settings_.memory_budget.empty();
    const std::string& text = has_own ? settings_.memory_budget : settings_.lease_vram;
    const Result<Bytes> bytes = parse_bytes(text);
    const bool counts = has_own || device() != train::Device::kCpu;
    return counts && bytes.ok() ? std::optional(*bytes) : std::nullopt;
  }

  // What all processes would have to do alike is left to when memory has run out.
  vram::Outcome act(vram::Action action) {
    bool done = false;
    if (action == vram::Action::kCheckpoint && can_save() && peers_.is_first()) {
      const Result<std::string> saved = save_in_emergency();
      say(saved.ok() ? "saved in " + *saved : "it could not be saved: " + saved.error().message);
      done = saved.ok();
    } else if (action == vram::Action::kShrink && peers_.size() == 1) {
      done = trainer_.shrink();
    } else if (action == vram::Action::kOffload && settings_.offload != train::Offload::kNever) {
      done = !trainer_.is_offloaded() && offload().ok();
    }
    return done ? vram::Outcome::kDone : vram::Outcome::kNotDone;
  }

  void make_room() {
    if (settings_.offload == train::Offload::kNever || trainer_.is_offloaded()) return;
    const Status made = offload();
    say(made.ok() ? "asked for memory: from here on what the optimizer keeps is offloaded"
                  : "asked for memory, and nothing could be offloaded: " + made.error().message);
    release_unused(device());
  }

  bool can_save() const { return !settings_.folder.empty(); }

  // A run that goes on has its own.
  Status take_given_weights() {
    if (settings_.weights.empty() || control_.resume) return Unit{};
    TRY_STATUS(read_weights(settings_.weights, model_));
    trainer_.begin_with_these_weights();
    return Unit{};
  }

  // All look before the first of them makes anything.
  Status open_checkpoints() {
    TRY_STATUS(peers_.all_well(look_for_checkpoints()));
    return peers_.all_well(peers_.is_first() ? begin_saving() : Unit{});
  }

  Status look_for_checkpoints() {
    if (!can_save()) return Unit{};
    saved_at_ = moment();
    if (control_.resume) {
      TRY(restored, restore(settings_.folder, trainer_, corpus_, settings_));
      for (const std::string& passed_over : restored.passed_over) say("passed over " + passed_over);
      say("going on from " + restored.path);
      summary_.checkpoint = restored.path;
      saved_step_ = trainer_.steps_done();
    } else if (has_checkpoints(settings_.folder)) {
      return Error{Errc::kConflict, settings_.folder +
                                        " holds the checkpoints of an earlier run: --resume goes "
                                        "on with it; another one wants a folder of its own"};
    }
    return Unit{};
  }

  Status begin_saving() {
    if (!can_save()) return Unit{};
    TRY(saver, Saver::open(settings_.folder, settings_.checkpoint_keep));
    saver_.emplace(std::move(saver));
    if (settings_.checkpoint_http.empty()) return Unit{};
    TRY(door, CheckpointPort::open(settings_.checkpoint_http));
    say("POST http://127.0.0.1:" + std::to_string(door.port()) + "/checkpoint saves");
    door_.emplace(std::move(door));
    return Unit{};
  }

  // By the first, for all.
  Status save() {
    Result<std::string> path = std::string();
    if (saver_) path = saver_->save(trainer_, corpus_, settings_, checkpoint::Slot::kRegular);
    TRY_STATUS(peers_.all_well(path));
    summary_.checkpoint = *path;
    saved_at_ = moment();
    saved_step_ = trainer_.steps_done();
    last_is_begun_ = false;
    return Unit{};
  }

  Status save_end() {
    TRY(is_unsaved, peers_.any(can_save() && saved_step_ != trainer_.steps_done()));
    if (is_unsaved) TRY_STATUS(save());
    return peers_.all_well(finish_saving());
  }

  // One that is due, and nobody waits for. Whether it is waited for is the first's to say.
  Status begin_save() {
    bool waits = saver_ && !settings_.checkpoint_background;
    Status begun = Unit{};
    if (saver_ && !waits) {
      begun = saver_->begin_save(trainer_, corpus_, settings_);
      waits = !begun.ok() && begun.error().code == Errc::kExhausted;
    }
    TRY(all_wait, peers_.any(waits));
    if (all_wait) return save();
    TRY_STATUS(peers_.all_well(begun));
    saved_at_ = moment();
    saved_step_ = trainer_.steps_done();
    last_is_begun_ = true;
    return Unit{};
  }

  Status finish_saving() {
    if (!saver_) return Unit{};
    TRY(path, saver_->finish());
    if (!path.empty() && last_is_begun_) summary_.checkpoint = path;
    return Unit{};
  }

  bool is_save_due() const {
    const std::uint32_t every = settings_.checkpoint_every;
    const double minutes = settings_.checkpoint_minutes;
    return (every > 0 && trainer_.steps_done() % every == 0) ||
           (minutes > 0 && static_cast<double>(since(saved_at_).ns) >= minutes * 60e9);
  }

  // What any of the processes wants is done by all. A save that was asked for and that fails
  // is reported to its requester; the run goes on.
  Status between_steps() {
    std::vector<CheckpointPort::Caller> callers;
    while (door_) {
      auto caller = door_->poll();
      if (!caller) break;
      callers.push_back(*std::move(caller));
    }
    std::vector<Ask> asks;
    bool is_room_wanted = false;
    while (control_.coordination != nullptr) {
      const std::optional<Ask> ask = control_.coordination->next_ask();
      if (!ask) break;
      is_to_end_ = is_to_end_ || ask->kind == Ask::Kind::kSaveAndEnd;
      is_room_wanted = is_room_wanted || ask->kind == Ask::Kind::kMakeRoom;
      if (ask->kind != Ask::Kind::kMakeRoom) asks.push_back(*ask);
    }
    is_to_end_ = is_to_end_ || is_stopped();
    const bool is_asked = !callers.empty() || !asks.empty();
    const Result<std::string> earlier = saver_ ? saver_->reports() : std::string();
    std::array<double, 5> wanted = {is_to_end_ ? 1.0 : 0.0, is_save_due() ? 1.0 : 0.0,
                                    is_asked ? 1.0 : 0.0, is_room_wanted ? 1.0 : 0.0,
                                    earlier.ok() ? 0.0 : 1.0};
    TRY_STATUS(peers_.sum(wanted));
    if (wanted[4] > 0) return peers_.all_well(earlier);
    is_to_end_ = wanted[0] > 0;
    if (wanted[3] > 0) make_room();
    if (wanted[1] == 0 && wanted[2] == 0) return Unit{};
    if (wanted[2] == 0) return begin_save();
    const Result<std::string> saved = save_for_others();
    for (CheckpointPort::Caller& caller : callers) caller.answer(saved);
    for (const Ask& ask : asks) control_.coordination->answer(ask, saved);
    if (!saved.ok() && wanted[1] > 0) return saved.error();
    return Unit{};
  }
  Result<std::string> save_for_others() {
    if (!can_save()) {
      return Error{Errc::kInvalid, "run.folder is not set: there is nowhere to save to"};
    }
    TRY_STATUS(save());
    return saver_ ? summary_.checkpoint : settings_.folder;  // The path is known to the first.
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
    const Bytes memory = tensor_memory(device()).now;
    record_.step(report, summary_.training, memory);
    const auto ns = static_cast<double>(summary_.training.ns);
    const Duration left = time_left();
    if (control_.coordination != nullptr) {
      control_.coordination->broadcast({.done = trainer_.steps_done(),
                                        .total = settings_.hybrid.schedule.steps,
                                        .left = left,
                                        .note = "loss " + four_digits(report.loss),
                                        .loss = report.loss,
                                        .phase = std::string(to_text(report.phase))});
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

  // Its results go where the first writes.
  void validate() {
    if (!peers_.is_first()) return;
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
  Peers& peers_;
  Corpus corpus_;
  Record record_;
  Gpt2 model_;
  HybridTrainer trainer_;
  std::optional<Saver> saver_;
  std::optional<CheckpointPort> door_;
  std::optional<MemoryWatch> watch_;
  Duration saved_at_;  // Or when the run began.
  std::optional<std::uint64_t> saved_step_;
  bool last_is_begun_ = false;  // The last save was not waited for.
  std::uint64_t begun_at_ = 0;  // So many steps were made before this process.
  bool is_to_end_ = false;      // It was told to.
  Summary summary_;
  std::deque<double> losses_;
  double tokens_ = 0;
};

// What only the machine can tell.
Status check_device(const train::Settings& settings, const RunControl& control) {
  if (settings.hybrid.device == train::Device::kCpu) return Unit{};
  if (!torch::cuda::is_available()) {
    return Error{Errc::kUnavailable, "run.device: libtorch finds no GPU for cuda here; cpu does"};
  }
  if (control.place && control.place->size > 1) {
    return Error{Errc::kInvalid, "run.device: several processes train on CPUs only"};
  }
  return Unit{};
}

}  // namespace

Result<Summary> run_training(const train::Settings& settings, const RunControl& control) {
  TRY_STATUS(train::check(settings));
  TRY_STATUS(check_device(settings, control));
  if (control.resume && settings.folder.empty()) {
    return Error{Errc::kInvalid, "run.folder: name the folder of the run that is to go on"};
  }
  count_tensor_memory();
  set_threads(settings.threads);
  const auto shape = train::gpt2_shape(settings.model);
  Peers peers;
  if (control.place) {
    TRY_STATUS(train::check_rows(*control.place, settings.rows));
    TRY(met, Peers::meet(*control.place));
    peers = std::move(met);
  }
  auto corpus = Corpus::open({.path = settings.text,
                              .rows = settings.rows,
                              .columns = settings.columns,
                              .seed = settings.seed,
                              .held_out = settings.held_out,
                              .vocabulary = checked(shape).vocabulary,
                              .rank = peers.rank(),
                              .ranks = peers.size()});
  TRY_STATUS(peers.all_well(corpus));
  auto record = Record::open(peers.is_first() ? settings.folder : std::string());
  TRY_STATUS(peers.all_well(record));
  Result<Summary> summary = Summary{};
  TRY_STATUS(caught([&] {
    summary = Run(settings, control, peers, *std::move(corpus), *std::move(record)).all();
  }));
  return summary;
}

}  // namespace berth::trainer
