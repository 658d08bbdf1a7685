// SPDX-License-Identifier: Apache-2.0
// The simulated driver's arrays and mipmapped arrays: what they take of the device. Nothing reads
// or writes them, since no kernel runs. Any thread with a current context may call these.
#include <algorithm>
#include <bit>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

std::uint64_t bytes_of(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
  }
  return 0;
}

constexpr std::size_t kSideMax = std::size_t{1} << 20U;  // More than any device takes.

bool is_valid(const CUDA_ARRAY3D_DESCRIPTOR& what) {
  const bool channels = what.NumChannels == 1 || what.NumChannels == 2 || what.NumChannels == 4;
  const bool sides =
      what.Width > 0 && (what.Height > 0 || what.Depth == 0 || (what.Flags & kArrayLayered) != 0);
  const bool small = what.Width <= kSideMax && what.Height <= kSideMax && what.Depth <= kSideMax;
  return channels && sides && small && bytes_of(what.Format) > 0;
}

// Rows begin at multiples of 512 bytes. A real driver has other ways; this one's is its own.
std::uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR& what, unsigned int level) {
  const auto side = [&](std::size_t full) { return std::max<std::size_t>(1, full >> level); };
  const bool layered = (what.Flags & kArrayLayered) != 0;
  const std::uint64_t row = side(what.Width) * what.NumChannels * bytes_of(what.Format);
  const std::uint64_t pitch = (row + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
  return pitch * side(what.Height) *
         (layered ? std::max<std::size_t>(1, what.Depth) : side(what.Depth));
}

std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& what, unsigned int levels) {
  const std::size_t longest = std::max({what.Width, what.Height, what.Depth});
  const auto most = static_cast<unsigned int>(std::bit_width(longest));
  std::uint64_t bytes = 0;
  for (unsigned int level = 0; level < std::clamp(levels, 1U, most); ++level) {
    bytes += level_bytes(what, level);
  }
  return bytes;
}

CUresult make(std::uint64_t& handle, const CUDA_ARRAY3D_DESCRIPTOR* what, unsigned int levels,
              bool mipmapped) {
  if (what == nullptr || !is_valid(*what)) return CUDA_ERROR_INVALID_VALUE;
  return with_safe_context([&](Driver& driver, Context& context) {
    const unsigned int brought = kArraySparse | kArrayDeferredMapping;
    return driver.make_array(context,
                             {.bytes = array_bytes(*what, levels),
                              .mipmapped = mipmapped,
                              .deferred = (what->Flags & brought) != 0},
                             handle);
  });
}

// Told only of arrays whose memory the program brings, as a real driver does.
CUresult tell_needs(CUDA_ARRAY_MEMORY_REQUIREMENTS* needs, std::uint64_t handle, bool mipmapped) {
  if (needs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    const Driver::Array* array = driver.array(handle, mipmapped);
    if (array == nullptr || !array->deferred) return CUDA_ERROR_INVALID_VALUE;
    *needs = {.size = array->bytes, .alignment = kGranuleBytes, .reserved = {}};
    return CUDA_SUCCESS;
  });
}

CUresult destroy(std::uint64_t handle, bool mipmapped) {
  return with_context(
      [&](Driver& driver, Context&) { return driver.destroy_array(handle, mipmapped); });
}

template <class Handle>
std::uint64_t number_of(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

}  // namespace

extern "C" {

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* what) {
  if (array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t handle = 0;
  const CUresult result = make(handle, what, 1, false);
  if (result == CUDA_SUCCESS) *array = std::bit_cast<CUarray>(handle);
  return result;
}

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR flat = in_three_dimensions(*what);
  return cuArray3DCreate_v2(array, &flat);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* what,
                                unsigned int levels) {
  if (array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t handle = 0;
  const CUresult result = make(handle, what, levels, true);
  if (result == CUDA_SUCCESS) *array = std::bit_cast<CUmipmappedArray>(handle);
  return result;
}

CUresult cuArrayDestroy(CUarray array) {
  return destroy(number_of(array), false);
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return destroy(number_of(array), true);
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* needs, CUarray array,
                                      CUdevice /*device*/) {
  return tell_needs(needs, number_of(array), false);
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* needs,
                                               CUmipmappedArray array, CUdevice /*device*/) {
  return tell_needs(needs, number_of(array), true);
}

}  // extern "C"
}  // namespace berth::simgpu
