// SPDX-License-Identifier: Apache-2.0
#include "safetensors/dtype.h"

#include <array>
#include <string>

#include "base/check.h"

namespace berth::checkpoint {
namespace {

struct Known {
  Dtype dtype;
  std::string_view name;
  unsigned bits;
};

constexpr std::array<Known, safetensors::kDtypes> kKnown = {{
    {Dtype::kBool, "BOOL", 8},
    {Dtype::kF4, "F4", 4},
    {Dtype::kF6E2M3, "F6_E2M3", 6},
    {Dtype::kF6E3M2, "F6_E3M2", 6},
    {Dtype::kU8, "U8", 8},
    {Dtype::kI8, "I8", 8},
    {Dtype::kF8E5M2, "F8_E5M2", 8},
    {Dtype::kF8E4M3, "F8_E4M3", 8},
    {Dtype::kF8E8M0, "F8_E8M0", 8},
    {Dtype::kF8E4M3Fnuz, "F8_E4M3FNUZ", 8},
    {Dtype::kF8E5M2Fnuz, "F8_E5M2FNUZ", 8},
    {Dtype::kI16, "I16", 16},
    {Dtype::kU16, "U16", 16},
    {Dtype::kF16, "F16", 16},
    {Dtype::kBf16, "BF16", 16},
    {Dtype::kI32, "I32", 32},
    {Dtype::kU32, "U32", 32},
    {Dtype::kF32, "F32", 32},
    {Dtype::kC64, "C64", 64},
    {Dtype::kF64, "F64", 64},
    {Dtype::kI64, "I64", 64},
    {Dtype::kU64, "U64", 64},
}};

const Known& known(Dtype dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  CHECK(index < kKnown.size() && kKnown[index].dtype == dtype);
  return kKnown[index];
}

}  // namespace

const char* name_of(Dtype dtype) noexcept {
  return known(dtype).name.data();  // Of a literal, which ends with a zero.
}

unsigned bits_of(Dtype dtype) noexcept {
  return known(dtype).bits;
}

}  // namespace berth::checkpoint

namespace berth::safetensors {

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kDtypes; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (name == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

Result<std::uint64_t> tensor_bytes(Dtype dtype, std::span<const std::uint64_t> shape) {
  std::uint64_t bits = 1;
  bool fits = true;
  for (const std::uint64_t size : shape) fits = fits && !__builtin_mul_overflow(bits, size, &bits);
  // Counted in bits, so that what is said to fit can be counted in bytes by anybody.
  fits = fits && !__builtin_mul_overflow(bits, bits_of(dtype), &bits);
  if (!fits) return Error{Errc::kInvalid, "its shape makes more bytes than 64 bits can count"};
  if (bits % 8 != 0) {
    return Error{Errc::kInvalid, "its elements of " + std::to_string(bits_of(dtype)) +
                                     " bits make no whole number of bytes"};
  }
  return bits / 8;
}

}  // namespace berth::safetensors
