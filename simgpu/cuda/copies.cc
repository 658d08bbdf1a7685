// SPDX-License-Identifier: Apache-2.0
// The simulated driver's copies in streams, of rows, and between addresses of any kind. They are
// done when the call returns; in a stream that is captured nothing is done. Any thread with a
// current context may call these.
#include <bit>
#include <cstring>
#include <optional>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/device_memory.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

// Rows that lie so far from one another.
struct Rows {
  CUmemorytype type;
  CUdeviceptr device;
  std::byte* host;
  std::size_t pitch;
  std::size_t skipped;  // Bytes before the first one.
};

struct Shape {
  std::size_t width;
  std::size_t height;
};

std::optional<std::size_t> bytes_of(const Rows& rows, const Shape& shape) {
  if (rows.pitch < shape.width && shape.height > 1) return std::nullopt;
  if (rows.pitch != 0 && shape.height - 1 > (SIZE_MAX - shape.width) / rows.pitch)
    return std::nullopt;
  return rows.pitch * (shape.height - 1) + shape.width;
}

// Whether a unified address is one of a device.
bool is_of_a_device(CUdeviceptr at) {
  bool is = false;
  (void)with_context([&](Driver& driver, Context&) {
    is = driver.device_at(at).has_value() || driver.readable(at, 1) != nullptr;
    return CUDA_SUCCESS;
  });
  return is;
}

Rows unified(CUdeviceptr at) {
  const bool device = is_of_a_device(at);
  return {.type = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
          .device = at,
          .host = std::bit_cast<std::byte*>(at),
          .pitch = 0,
          .skipped = 0};
}

bool is_known(CUmemorytype type) {
  return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE;
}

// Arrays have no bytes that could be copied.
CUresult copy(const Rows& to, const Rows& from, const Shape& shape) {
  if (shape.width == 0 || shape.height == 0) return CUDA_SUCCESS;
  if (!is_known(to.type) || !is_known(from.type)) return CUDA_ERROR_NOT_SUPPORTED;
  const auto to_bytes = bytes_of(to, shape);
  const auto from_bytes = bytes_of(from, shape);
  if (!to_bytes || !from_bytes) return CUDA_ERROR_INVALID_VALUE;
  const bool to_device = to.type == CU_MEMORYTYPE_DEVICE;
  const bool from_device = from.type == CU_MEMORYTYPE_DEVICE;
  if ((!to_device && to.host == nullptr) || (!from_device && from.host == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  return with_memory({to.device + to.skipped, to_device ? *to_bytes : 0},
                     {from.device + from.skipped, from_device ? *from_bytes : 0},
                     [&](std::byte* target, const std::byte* source) {
                       if (!to_device) target = to.host + to.skipped;
                       if (!from_device) source = from.host + from.skipped;
                       for (std::size_t row = 0; row < shape.height; ++row)
                         std::memmove(target + row * to.pitch, source + row * from.pitch,
                                      shape.width);
                     });
}

CUresult copy_rows(const CUDA_MEMCPY2D& what) {
  if (what.srcPitch > SIZE_MAX / (what.srcY + 1) || what.dstPitch > SIZE_MAX / (what.dstY + 1))
    return CUDA_ERROR_INVALID_VALUE;
  Rows from{.type = what.srcMemoryType,
            .device = what.srcDevice,
            .host = static_cast<std::byte*>(const_cast<void*>(what.srcHost)),
            .pitch = what.srcPitch,
            .skipped = what.srcY * what.srcPitch + what.srcXInBytes};
  Rows to{.type = what.dstMemoryType,
          .device = what.dstDevice,
          .host = static_cast<std::byte*>(what.dstHost),
          .pitch = what.dstPitch,
          .skipped = what.dstY * what.dstPitch + what.dstXInBytes};
  for (Rows* rows : {&from, &to}) {
    if (rows->type != CU_MEMORYTYPE_UNIFIED) continue;
    const Rows found = unified(rows->device);
    rows->type = found.type;
    rows->host = found.host;
  }
  return copy(to, from, {.width = what.WidthInBytes, .height = what.Height});
}

}  // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy(unified(to), unified(from), {.width = bytes, .height = 1});
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return in_stream(stream, [&] { return cuMemcpy(to, from, bytes); });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                              CUstream stream) {
  return in_stream(stream, [&] { return cuMemcpyHtoD_v2(to, from, bytes); });
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return in_stream(stream, [&] { return cuMemcpyDtoH_v2(to, from, bytes); });
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) {
  return in_stream(stream, [&] { return cuMemcpyDtoD_v2(to, from, bytes); });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext /*to_context*/, CUdeviceptr from,
                           CUcontext /*from_context*/, std::size_t bytes, CUstream stream) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* what) {
  return what == nullptr ? CUDA_ERROR_INVALID_VALUE : copy_rows(*what);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* what, CUstream stream) {
  return in_stream(stream, [&] { return cuMemcpy2D_v2(what); });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return in_stream(stream, [&] { return cuMemsetD8_v2(to, value, count); });
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, std::size_t count, CUstream stream) {
  return in_stream(stream, [&] { return cuMemsetD32_v2(to, value, count); });
}

}  // extern "C"
}  // namespace berth::simgpu
