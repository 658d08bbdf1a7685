// SPDX-License-Identifier: Apache-2.0
// Files that a run leaves in its folder: a line of JSON for each step, one for each validation, one
// at the end, and plots of them. One thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "base/result.h"
#include "train/settings.h"
#include "train/svg_plot.h"
#include "trainer/run.h"

namespace berth::trainer {

class Record {
 public:
  /// Makes the folder. Without a name nothing is written anywhere.
  static Result<Record> open(const std::string& folder);

  void begin(const train::Settings& settings);
  void step(const StepReport& report, Duration training, Bytes memory);
  void validation(std::uint64_t step, const Summary& so_far);
  void end(const Summary& summary);
  /// kIo, naming the file that could not be written whole.
  Status finish();

 private:
  explicit Record(std::string folder) : folder_(std::move(folder)) {}
  void write(const std::string& line);
  Status write_plot(const std::string& name, const train::Plot& plot) const;

  std::string folder_;
  std::ofstream metrics_;
  train::Line loss_by_step_{.name = "training"};
  train::Line loss_by_time_{.name = "training"};
  train::Line validation_by_step_{.name = "validation"};
  train::Line validation_by_time_{.name = "validation"};
  train::Line memory_by_step_{.name = "tensors"};
};

}  // namespace berth::trainer
