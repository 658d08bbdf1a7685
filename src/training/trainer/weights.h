// SPDX-License-Identifier: Apache-2.0
// The weights of a GPT-2 alone, in files that others read and write: safetensors with the names of
// the public checkpoints ("….safetensors"), and llm.c's ("….bin"). One thread.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "berth/safetensors.h"
#include "trainer/gpt2.h"

namespace berth::trainer {

/// Of those that src/training/checkpoint tells.
Error error_of(const checkpoint::Failure& failure);

/// Null where there is none of that name.
using FindTensor = std::function<const checkpoint::Tensor*(const std::string& name)>;
/// Copies what it finds into all parameters. kInvalid, naming `path` and the tensor that is not
/// there, or is of another shape; nothing is changed then.
Status copy_weights(const std::string& path, const FindTensor& find, torch::nn::Module& model);

/// Takes them over, of 32 bits, or of llm.c's bfloat16 files. What else is in a file is left alone.
/// kInvalid, naming it, where the file is of another kind or shape; the model is as it was then, or
/// has a part of the file's weights where that ended early.
Status read_weights(const std::string& path, Gpt2& model);
/// The file is there whole, or as it was.
Status write_weights(const std::string& path, const Gpt2& model);

}  // namespace berth::trainer
