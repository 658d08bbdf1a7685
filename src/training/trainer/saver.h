// SPDX-License-Identifier: Apache-2.0
// A run to disk and back: weights under their names, optimizer, predictor and snapshot as they are,
// and all that decides as text. What was saved goes on to the last bit. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "berth/checkpoint.h"
#include "train/settings.h"
#include "trainer/corpus.h"
#include "trainer/hybrid_trainer.h"

namespace berth::trainer {

/// Whether any run has left some in the folder, whole or not.
bool has_checkpoints(const std::string& folder);

class Saver {
 public:
  /// The directory "checkpoints" of the folder; kConflict where another run has it.
  static Result<Saver> open(const std::string& folder, std::uint32_t keep);

  /// Returns when it is on the disk and was read back.
  Result<std::string> save(HybridTrainer& trainer, const Corpus& corpus,
                           const train::Settings& settings, checkpoint::Slot slot);
  /// Returns when all is copied, into memory of the host that stays: the run may go on. kExhausted:
  /// there is none for a copy.
  Status begin_save(HybridTrainer& trainer, const Corpus& corpus, const train::Settings& settings);
  /// What has become of those so far: the path of the last, empty if there was none, or the first
  /// that failed.
  Result<std::string> reports();
  /// Waits for them.
  Result<std::string> finish();

 private:
  explicit Saver(checkpoint::Store store) : store_(std::move(store)) {}

  checkpoint::Store store_;
  std::string newest_;  // That was begun, and is known to be there.
};

/// The weights of the newest checkpoint that is whole, and the settings with which they came to be.
struct SavedModel {
  checkpoint::Loaded loaded;
  train::Settings settings;
};
Result<SavedModel> load_model(const std::string& folder);

/// Takes up the newest checkpoint that is whole. kInvalid where it is of another model, text or
/// other settings, naming the first that differs; what only decides where results go may differ.
/// Returns the path, and what was passed over.
struct Restored {
  std::string path;
  std::vector<std::string> passed_over;
};
Result<Restored> restore(const std::string& folder, HybridTrainer& trainer, Corpus& corpus,
                         const train::Settings& settings);

}  // namespace berth::trainer
