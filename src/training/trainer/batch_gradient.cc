// SPDX-License-Identifier: Apache-2.0
#include "trainer/batch_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/checked.h"
#include "trainer/memory.h"
#include "trainer/moment.h"

namespace berth::trainer {

BatchGradient::BatchGradient(FlatParameters& parameters, LossFunction loss,
                             const train::HybridConfig& config)
    : parameters_(parameters),
      loss_(std::move(loss)),
      rows_max_(config.micro_rows),
      device_(config.device),
      scale_(config.loss_scale) {}

void BatchGradient::train_with(Peers& peers) {
  if (peers.size() == 1) return;
  peers_ = &peers;
  shared_ = std::make_unique<SharedGradients>(parameters_, peers);
}

double BatchGradient::evaluate(const Batch& batch) const {
  const c10::InferenceMode no_graph;
  const std::int64_t rows = batch.rows();
  const auto most = static_cast<std::int64_t>(micro_);
  if (most == 0 || rows <= most) return loss_(batch).item<double>();
  double sum = 0;
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    sum += static_cast<double>(count) * loss_(batch.part(first, count)).item<double>();
  }
  return sum / static_cast<double>(rows);
}

Result<BatchGradient::Taken> BatchGradient::take(const Batch& batch, std::uint64_t& restarts) {
  const auto rows = static_cast<std::uint64_t>(batch.rows());
  if (pieces_rows_ != rows) TRY_STATUS(make_pieces(rows));
  for (;;) {
    vram::Batch& pieces = checked(pieces_);
    Taken taken;
    const Status outcome = agree(caught([&] { take_pieces(batch, taken); }), taken);
    if (outcome.ok()) {
      micro_ = pieces.plan().micro;
      taken.pieces = pieces.plan().accumulation;
      finish(taken);
      pieces.clean_step(std::nullopt);
      return taken;
    }
    if (outcome.error().code != Errc::kExhausted) return outcome.error();
    ++restarts;
    parameters_.clear_gradients();
    release_unused(device_);
    const Result<vram::BatchPlan> smaller = pieces.out_of_memory();
    if (!smaller.ok() && (!last_resort_ || !last_resort_())) {
      return Error{Errc::kExhausted, "out of memory with one row of " +
                                         std::to_string(batch.inputs.size(1)) +
                                         " tokens: shorter rows or a smaller model need less"};
    }
  }
}

bool BatchGradient::shrink() {
  return pieces_ && pieces_->out_of_memory().ok();
}

void BatchGradient::take_pieces(const Batch& batch, Taken& taken) {
  parameters_.clear_gradients();
  const std::int64_t rows = batch.rows();
  const auto micro = static_cast<std::int64_t>(checked(pieces_).plan().micro);
  const double share = static_cast<double>(micro) / static_cast<double>(rows);
  for (std::int64_t first = 0; first < rows && std::isfinite(taken.loss); first += micro) {
    Duration begin = moment();
    at::Tensor loss = loss_(batch.part(first, micro));
    if (micro < rows) loss = loss * share;
    taken.loss += loss.item<double>();
    taken.forward = taken.forward + since(begin);
    begin = moment();
    if (shared_ && first + micro == rows) shared_->begin();
    if (scale_.now() != 1) loss = loss * scale_.now();
    if (std::isfinite(taken.loss)) loss.backward();
    taken.backward = taken.backward + since(begin);
  }
}

// How it went is how it went for all; the loss is the mean of theirs.
Status BatchGradient::agree(const Status& own, Taken& taken) {
  if (!shared_) return own;
  const Status shared = shared_->finish();
  const bool no_memory = !own.ok() && own.error().code == Errc::kExhausted;
  std::array<double, 3> told = {taken.loss, no_memory ? 1.0 : 0.0,
                                own.ok() || no_memory ? 0.0 : 1.0};
  const Status met = peers_->sum(told);
  if (!own.ok() && !no_memory) return own;
  if (!met.ok()) return met.error();
  if (!shared.ok()) return shared.error();
  taken.loss = told[0] / peers_->size();
  if (told[2] > 0) return Error{Errc::kUnavailable, "another process has failed, and says why"};
  if (no_memory) return own;
  if (told[1] > 0) return Error{Errc::kExhausted, "another process is out of memory"};
  return Unit{};
}

void BatchGradient::finish(Taken& taken) {
  taken_scale_ = scale_.now();
  if (!std::isfinite(taken.loss)) return;
  taken.norm = parameters_.gradient_norm() * unscale();
  if (std::isfinite(*taken.norm)) {
    scale_.fitted();
  } else {
    taken.overflowed = scale_.overflowed();
  }
}

Status BatchGradient::make_pieces(std::uint64_t rows) {
  const auto before = micro_ == 0 ? std::nullopt : std::optional(micro_);
  TRY(pieces, vram::Batch::make({.batch = rows, .micro_max = rows_max_}, before));
  pieces_ = pieces;
  pieces_rows_ = rows;
  return Unit{};
}

void BatchGradient::visit(train::StateText& state) {
  state.field("micro", micro_);
  scale_.visit(state);
}

}  // namespace berth::trainer
