// SPDX-License-Identifier: Apache-2.0
// The hooks of arrays and mipmapped arrays.
//
// Note [What an array takes]
//
// A driver lays an array out as it likes, and tells how much that takes only of one whose memory
// the program brings itself (CUDA_ARRAY3D_DEFERRED_MAPPING, since CUDA 11.6). So such a twin is
// made first, asked, and destroyed; it takes nothing of the device. Where the driver does not tell,
// what is charged is what the elements of each level take in rows of 512 bytes. Small arrays may
// share pages; an array has no address that would show it, so each is charged for whole ones.
#include "guard/preload/hooks.h"

namespace berth::guard {
namespace {

constexpr std::uint64_t kRow = 512;
constexpr std::uint64_t kTexelMax = 16;  // Bytes; of formats that are not known here.
constexpr std::uint64_t kHandle = std::uint64_t{1} << 63U;  // Told from addresses of memory.

std::uint64_t key_of(const void* array) {
  return handle_of(array) | kHandle;
}

std::uint64_t texel_bytes(CUarray_format format, unsigned int channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return std::uint64_t{2} * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return std::uint64_t{4} * channels;
  }
  return kTexelMax;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

std::uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR& what, unsigned int level) {
  const auto side = [&](std::size_t full) {
    return full >> level == 0 ? std::uint64_t{1} : std::uint64_t{full >> level};
  };
  std::uint64_t row = times(side(what.Width), texel_bytes(what.Format, what.NumChannels));
  if (row <= UINT64_MAX - kRow) row = (row + kRow - 1) / kRow * kRow;
  const bool layered = (what.Flags & kArrayLayered) != 0;
  const std::uint64_t depth = layered && what.Depth != 0 ? what.Depth : side(what.Depth);
  return times(row, times(side(what.Height), depth));
}

// Not known to be as much as the driver takes, but nothing better is known.
std::uint64_t guess(const CUDA_ARRAY3D_DESCRIPTOR& what, unsigned int levels = 1) {
  const std::size_t longest = what.Width | what.Height | what.Depth;
  std::uint64_t bytes = 0;
  for (unsigned int level = 0; level == 0 || (level < levels && longest >> level != 0); ++level) {
    const std::uint64_t more = level_bytes(what, level);
    if (bytes > UINT64_MAX - more) return UINT64_MAX;
    bytes += more;
  }
  return bytes;
}

// What the driver says of such a twin; 0: it does not tell.
template <class Array, class Make, class Ask, class Destroy>
std::uint64_t told_of_twin(const CUDA_ARRAY3D_DESCRIPTOR& what, Make make, Ask ask,
                           Destroy destroy) {
  CUDA_ARRAY3D_DESCRIPTOR deferred = what;
  deferred.Flags |= kArrayDeferredMapping;
  Array twin = nullptr;
  CUdevice device = -1;
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  if (REAL(cuCtxGetDevice, &device) != CUDA_SUCCESS || make(&twin, &deferred) != CUDA_SUCCESS)
    return 0;
  const CUresult told = ask(&needs, twin, device);
  (void)destroy(twin);
  return told == CUDA_SUCCESS ? needs.size : 0;
}

std::uint64_t bytes_of_array(const CUDA_ARRAY3D_DESCRIPTOR& what) {
  const std::uint64_t told = told_of_twin<CUarray>(
      what, [](auto*... all) { return REAL(cuArray3DCreate_v2, all...); },
      [](auto... all) { return REAL(cuArrayGetMemoryRequirements, all...); },
      [](CUarray twin) { return REAL(cuArrayDestroy, twin); });
  return told != 0 ? told : guess(what);
}

std::uint64_t bytes_of_mipmaps(const CUDA_ARRAY3D_DESCRIPTOR& what, unsigned int levels) {
  const std::uint64_t told = told_of_twin<CUmipmappedArray>(
      what, [&](auto*... all) { return REAL(cuMipmappedArrayCreate, all..., levels); },
      [](auto... all) { return REAL(cuMipmappedArrayGetMemoryRequirements, all...); },
      [](CUmipmappedArray twin) { return REAL(cuMipmappedArrayDestroy, twin); });
  return told != 0 ? told : guess(what, levels);
}

// `flags`: as in its description. Memory that the program brings is charged where it is made.
template <class Array, class BytesOf, class Make>
CUresult make_array(Array* array, unsigned int flags, BytesOf bytes_of, Make make) {
  Process* process = Process::current();
  Place place;
  if (process == nullptr || array == nullptr ||
      (flags & (kArraySparse | kArrayDeferredMapping)) != 0 || !current_place(*process, place)) {
    return make();
  }
  return make_charged(*process, place, Kind::kArray, bytes_of(), make,
                      [&] { return key_of(*array); });
}

template <class Descriptor, class Make>
CUresult describe_array(CUarray* array, const Descriptor* what, Make make) {
  if (what == nullptr) return make();
  const CUDA_ARRAY3D_DESCRIPTOR wide = in_three_dimensions(*what);
  return make_array(array, wide.Flags, [&] { return bytes_of_array(wide); }, make);
}

template <class Destroy>
CUresult destroy_array(const void* array, Destroy destroy) {
  Process* process = Process::current();
  const Entry entry = process == nullptr ? Entry{} : process->begin_free(key_of(array));
  const CUresult result = destroy();
  if (process != nullptr && entry.key != 0)
    settle_free(*process, entry, result, CUDA_ERROR_INVALID_HANDLE);
  return result;
}

}  // namespace

OURS cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* what) {
  return describe_array(array, what, [&] { return REAL(cuArrayCreate_v2, array, what); });
}
OURS cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* what) {
  return describe_array(array, what, [&] { return REAL(cuArrayCreate, array, what); });
}
OURS cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* what) {
  return describe_array(array, what, [&] { return REAL(cuArray3DCreate_v2, array, what); });
}
OURS cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* what) {
  return describe_array(array, what, [&] { return REAL(cuArray3DCreate, array, what); });
}

OURS cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* what,
                            unsigned int levels) {
  const auto real = [&] { return REAL(cuMipmappedArrayCreate, array, what, levels); };
  if (what == nullptr) return real();
  return make_array(array, what->Flags, [&] { return bytes_of_mipmaps(*what, levels); }, real);
}

OURS cuArrayDestroy(CUarray array) {
  return destroy_array(array, [&] { return REAL(cuArrayDestroy, array); });
}

OURS cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return destroy_array(array, [&] { return REAL(cuMipmappedArrayDestroy, array); });
}

}  // namespace berth::guard
