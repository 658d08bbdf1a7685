// SPDX-License-Identifier: Apache-2.0
// Models that several tests estimate.
#pragma once

#include "estimate/model_shape.h"

namespace berth::estimate {

// Of 124 M parameters.
inline constexpr ModelShape kGpt2 = {.kind = ModelShape::Kind::kGpt2,
                                     .layers = 12,
                                     .width = 768,
                                     .heads = 12,
                                     .key_value_heads = 12,
                                     .head_width = 64,
                                     .inner_width = 3'072,
                                     .vocabulary = 50'257,
                                     .positions = 1'024};

// Llama 2 7B
inline constexpr ModelShape kSeven = {.kind = ModelShape::Kind::kLlama,
                                      .layers = 32,
                                      .width = 4'096,
                                      .heads = 32,
                                      .key_value_heads = 32,
                                      .head_width = 128,
                                      .inner_width = 11'008,
                                      .vocabulary = 32'000,
                                      .positions = 4'096,
                                      .tied_head = false};

}  // namespace berth::estimate
