// SPDX-License-Identifier: Apache-2.0
// The types of elements in the safetensors format. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "berth/safetensors.h"

namespace berth::safetensors {

using checkpoint::Dtype;

inline constexpr std::size_t kDtypes = static_cast<std::size_t>(Dtype::kU64) + 1;

/// The other way, checkpoint::name_of, is for everybody.
std::optional<Dtype> parse_dtype(std::string_view name);

/// What a tensor of this kind takes; kInvalid where that is no whole number of bytes, or none that
/// 64 bits can hold.
Result<std::uint64_t> tensor_bytes(Dtype dtype, std::span<const std::uint64_t> shape);

}  // namespace berth::safetensors
