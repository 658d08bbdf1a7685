// SPDX-License-Identifier: Apache-2.0
// The gradient of a batch, into the buffer of the parameters: in pieces that fit into memory, of a
// loss that is scaled where numbers are narrow, and the mean over all processes. One thread.
//
// Note [A batch in pieces]: the loss is a mean over the rows, so that the gradient of a batch is
// that of its pieces, each weighted by its rows. When memory runs out all of it is forgotten, and
// the same batch is begun anew in smaller pieces. Of several processes it is enough that one runs
// out of memory: all begin anew, and all go on alike.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/units.h"
#include "train/loss_scale.h"
#include "train/settings.h"
#include "train/state_text.h"
#include "trainer/flat_parameters.h"
#include "trainer/gpt2.h"
#include "trainer/peers.h"
#include "trainer/shared_gradients.h"
#include "vram/batch.h"

namespace berth::trainer {

using LossFunction = std::function<at::Tensor(const Batch&)>;

class BatchGradient {
 public:
  /// The parameters must outlive it.
  BatchGradient(FlatParameters& parameters, LossFunction loss, const train::HybridConfig& config);

  /// Others have as many other rows of each batch. They must outlive it.
  void train_with(Peers& peers);
  /// What to do when not even one row fits: true if less is needed now.
  void set_last_resort(std::function<bool()> resort) { last_resort_ = std::move(resort); }

  struct Taken {
    double loss = 0;
    /// Of the gradient, not scaled; absent if the loss is no number.
    std::optional<double> norm;
    /// The scale was too large for it. It is smaller now, and this gradient of no use.
    bool overflowed = false;
    std::uint64_t pieces = 0;
    Duration forward, backward;
  };
  /// Counts in `restarts` how often the batch was begun anew in smaller pieces. kExhausted: one row
  /// does not fit. kUnavailable: another process is lost.
  Result<Taken> take(const Batch& batch, std::uint64_t& restarts);
  /// The next batch is taken in smaller pieces; false: in smaller ones it cannot be.
  bool shrink();
  /// What a gradient is to be multiplied by before it is used.
  double unscale() const { return 1 / taken_scale_; }

  /// Mean loss without gradients, in pieces of no more rows than fitted into the last step, which
  /// takes more than this.
  double evaluate(const Batch& batch) const;

  void visit(train::StateText& state);

 private:
  Status make_pieces(std::uint64_t rows);
  void take_pieces(const Batch& batch, Taken& taken);
  Status agree(const Status& own, Taken& taken);
  void finish(Taken& taken);

  FlatParameters& parameters_;
  LossFunction loss_;
  std::uint32_t rows_max_;
  train::Device device_;
  train::LossScale scale_;
  double taken_scale_ = 1;  // Of the gradient that was taken last.
  Peers* peers_ = nullptr;  // Null: alone.
  std::unique_ptr<SharedGradients> shared_;
  std::function<bool()> last_resort_;
  std::optional<vram::Batch> pieces_;  // Of a batch of pieces_rows_.
  std::uint64_t pieces_rows_ = 0;
  std::uint64_t micro_ = 0;  // Rows at once, in the last step; 0: there was none.
};

}  // namespace berth::trainer
