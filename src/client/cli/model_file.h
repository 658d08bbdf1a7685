// SPDX-License-Identifier: Apache-2.0
// A model as it lies on the disk, as far as it says how much memory training it takes: its
// config.json, the heads of its files of tensors, or the directory of both. Tensors themselves are
// not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options.h"
#include "cli/verb.h"
#include "estimate/memory.h"
#include "estimate/model_shape.h"

namespace berth::cli {

struct ModelFile {
  std::string path;                                // Of what was read.
  std::optional<estimate::ModelShape> shape = {};  // From a config.
  std::uint64_t parameters = 0;
};

/// kNotFound, kCorrupt, naming the file.
Result<ModelFile> read_model(const std::string& path);

/// Says why a model could not be read. The exit status.
int fail_to_read(const Invocation& invocation, const Error& error);

/// What is told of a training by the words of `berth estimate` and `berth recommend` alike.
struct TrainingWords {
  std::optional<std::uint32_t> batch;
  std::optional<std::uint32_t> sequence;
  estimate::Optimizer optimizer = estimate::Optimizer::kAdamW;
  estimate::Attention attention = estimate::Attention::kEager;

  void declare(Options& options, std::string_view batch_help);
  /// Empty if nothing is.
  std::string wrong() const;
};

}  // namespace berth::cli
