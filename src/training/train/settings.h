// SPDX-License-Identifier: Apache-2.0
// Settings of a training run: one struct, and the table of the keys under which people set it, in a
// file or on the command line. Pure; reads no file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"
#include "train/divergence.h"
#include "train/key_words.h"
#include "train/phases.h"
#include "train/recovery.h"
#include "train/schedule.h"

namespace berth::train {

/// Note [Modes]: off is plain training. Auto predicts where that was found to pay, rejects jumps
/// whose speedup is below the one that is wanted, and switches itself off where none are. Forced
/// takes every predict phase that the controller plans: a jump that makes the loss no better is
/// made with length 0. With the null predictor it is the control of an experiment.
enum class Mode : std::uint8_t { kOff, kAuto, kForced };
constexpr auto words_of(Mode) {
  using enum Mode;
  return make_words<Mode>({{kOff, "off"}, {kAuto, "auto"}, {kForced, "forced"}});
}

enum class PredictorKind : std::uint8_t {
  kNull,        // Skips steps and changes nothing: what every other must beat.
  kLinear,      // The mean displacement of the last windows, per learning rate.
  kDifference,  // The displacement of the last window alone.
  kNesterov,    // An outer Nesterov step over the window (SNOO, arXiv 2510.15830).
  kAdam,        // What AdamW would do on and on without another gradient: a negative control.
  kLowRank,     // The linear rule that the last windows follow (train/extrapolation.h).
};
constexpr auto words_of(PredictorKind) {
  using enum PredictorKind;
  return make_words<PredictorKind>({{kNull, "null"},
                                    {kLinear, "linear"},
                                    {kDifference, "difference"},
                                    {kNesterov, "nesterov"},
                                    {kAdam, "adam"},
                                    {kLowRank, "low_rank"}});
}

/// What says when to jump and how far. Each jump is judged all the same.
enum class Scheduler : std::uint8_t {
  kBenefit,   // The mean speedup of the last jumps (train/benefit.h).
  kDynamics,  // An ensemble that learns it from what the steps look like (train/dynamics.h).
};
constexpr auto words_of(Scheduler) {
  using enum Scheduler;
  return make_words<Scheduler>({{kBenefit, "benefit"}, {kDynamics, "dynamics"}});
}

struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double decay = 0.1;
};

enum class Precision : std::uint8_t {
  kFp32,
  kBf16,  // Of products of matrices; all else stays as it is.
  kFp16,  // The same, with losses that are scaled. For GPUs.
};
constexpr auto words_of(Precision) {
  using enum Precision;
  return make_words<Precision>({{kFp32, "fp32"}, {kBf16, "bf16"}, {kFp16, "fp16"}});
}

/// On which parameters lie and all is computed.
enum class Device : std::uint8_t { kCpu, kCuda };
constexpr auto words_of(Device) {
  using enum Device;
  return make_words<Device>({{kCpu, "cpu"}, {kCuda, "cuda"}});
}

/// When what is wanted once a step or less is put away into memory of the host that does not count.
enum class Offload : std::uint8_t {
  kNever,
  kShort,  // Where memory has run out, or the daemon that shares it out asks for some.
  kAlways,
};
constexpr auto words_of(Offload) {
  using enum Offload;
  return make_words<Offload>({{kNever, "never"}, {kShort, "short"}, {kAlways, "always"}});
}

enum class OptimizerKind : std::uint8_t {
  kAdamW,
  kMuon,  // For the matrices of layers; AdamW for all else.
};
constexpr auto words_of(OptimizerKind) {
  using enum OptimizerKind;
  return make_words<OptimizerKind>({{kAdamW, "adamw"}, {kMuon, "muon"}});
}

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double momentum = 0.95;  // Of Muon.
  AdamWConfig adamw;       // Its decay is Muon's too.
};

/// Of steps that are made from a point ahead of the weights (trainer/lookahead.h).
struct LookaheadConfig {
  // So many of the mean's ahead, at the full learning rate; 0: none. Steps grow by 1 / (1 - steps),
  // because the mean is of steps that were made so: it is below 1.
  double steps = 0;
  double decay = 0.99;
};

struct HybridConfig {
  Mode mode = Mode::kAuto;
  PredictorKind predictor = PredictorKind::kLinear;
  Scheduler scheduler = Scheduler::kBenefit;
  double speedup_min = 1;  // Real steps that each predicted one is to stand for, in kAuto.
  double clip = 1;         // The most that a gradient's norm may be; 0: no limit.
  std::uint32_t snapshot_every = 50;  // Real steps between snapshots to roll back to; 0: none.
  std::uint32_t micro_rows = 0;       // Of a batch, at once, at most; 0: all, while they fit.
  Device device = Device::kCpu;
  double loss_scale = 0;  // To begin with (train/loss_scale.h); 0: none.
  PhaseConfig phases;
  DivergenceConfig divergence;
  RecoveryConfig recovery;
  ScheduleConfig schedule;
  OptimizerConfig optimizer;
  LookaheadConfig lookahead;
  double average_decay = 0;  // Of a running mean of the weights beside them; 0: there is none.
};

struct Settings {
  std::string model = "nano";  // gpt2_shape() knows it.
  std::string text;            // The file that is learnt.
  std::string weights;         // A file of them to begin with; empty: by chance.
  std::string folder;          // Where metrics, plots and checkpoints go; none are written without.
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;  // 0: as many as there are cores.
  std::uint32_t rows = 16;    // Of a batch.
  std::uint32_t columns = 64;
  double held_out = 0.1;               // Of the text, at its end.
  std::uint32_t trial_rows = 4;        // Of the batch on which jumps are judged.
  std::uint32_t validate_every = 100;  // Steps; 0: at the end only.
  std::uint32_t validate_rows = 64;
  std::uint32_t checkpoint_every = 0;  // Steps; 0: at the end, or when asked for.
  double checkpoint_minutes = 0;       // 0: not by time.
  std::uint32_t checkpoint_keep = 3;
  bool checkpoint_background = true;  // Those that are due are written while steps go on.
  std::string checkpoint_http;        // Where others may ask for one; empty: nowhere.
  std::string memory_budget;          // What much memory is a share of; empty: what there is.
  std::string lease_vram;             // Of a lease of its own, on one GPU; empty: none is taken.
  double lease_wait = 0;              // Minutes; 0: for as long as it takes.
  double lease_grace = 2;             // Minutes within which it can save itself.
  Precision precision = Precision::kFp32;
  Offload offload = Offload::kShort;
  bool recompute = false;  // Layers are computed again in the backward pass, not kept.
  HybridConfig hybrid;
};

/// Sets one key, "rate.schedule" or so. kInvalid, naming the key, what was given and what would be
/// right, or the key that may have been meant.
Status set(Settings& settings, std::string_view key, std::string_view value);
/// What no single key can tell: is there a text, do its parts fit together.
Status check(const Settings& settings);

/// All keys, in the order in which they are told, as set() would take them.
std::vector<KeyAndValue> values_of(const Settings& settings);
/// What it says has a part in what the weights become. The other keys may differ between a run and
/// its resumption, and between the processes of one run.
bool moves_weights(std::string_view key);

struct Arguments {
  std::string file;  // Of settings; the command line holds over it.
  std::vector<KeyAndValue> keys;
  bool help = false;
  bool resume = false;
};
/// [FILE] [--KEY VALUE | --KEY=VALUE]... [--resume] [--help]. The keys point into `words`.
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

}  // namespace berth::train
