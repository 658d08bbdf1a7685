// SPDX-License-Identifier: Apache-2.0
// Estimates of the memory that training a transformer takes: part of libberth's C interface,
// by the rules of berth/berth.h. Nothing is measured and nobody is asked. docs/estimate.md has the
// formulas, and what they leave out.
#pragma once

#include <berth/berth.h>

// NOLINTBEGIN(readability-identifier-naming,modernize-*): names and types as C has them.
#ifdef __cplusplus
extern "C" {
#endif

typedef struct berth_training {
  uint32_t size;
  uint32_t checkpointing;  // 1: layers are computed again when they are needed.
  uint64_t batch;          // Sequences at once, 2^32 at most; 0: one.
  uint64_t sequence;       // Tokens in each, 2^24 at most; 0: 1024.
  uint64_t room_bytes;     // To say which batch fits into it; 0: none.
  const char* precision;   // "fp32", "mixed", "bf16", "fp16"; null: the first.
  const char* optimizer;  // "adamw", "adam", "adamw8bit", "momentum", "sgd", "adafactor"; likewise.
  const char* attention;  // "eager", "flash"; likewise.
} berth_training;

typedef struct berth_estimate {
  uint32_t size;
  uint32_t layers_known;  // 0: of parameters alone; all from activations_bytes on means nothing.
  uint64_t parameters;
  uint64_t weights_bytes;
  uint64_t gradients_bytes;
  uint64_t optimizer_bytes;
  uint64_t activations_bytes;  // The sum of the five that follow.
  uint64_t norms_bytes;
  uint64_t attention_bytes;
  uint64_t feed_forward_bytes;
  uint64_t output_bytes;
  uint64_t half_copies_bytes;
  uint64_t peak_bytes;     // The most at one moment, without the driver's context.
  uint64_t largest_batch;  // Whose peak fits into room_bytes; 0: not one sequence, or not asked.
} berth_estimate;

// Of a model's config.json, as text, of GPT-2's kind or of Llama's; or, where that is null, of so
// many parameters. `training` null: one sequence of 1024 tokens, fp32, AdamW. BERTH_INVALID names
// the key that is missing or not understood.
berth_status berth_estimate_training(const char* config_json, uint64_t parameters,
                                     const berth_training* training, berth_estimate* estimate);

// NOLINTEND(readability-identifier-naming,modernize-*)
#ifdef __cplusplus
}  // extern "C"
#endif
