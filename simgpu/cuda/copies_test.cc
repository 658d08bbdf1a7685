// SPDX-License-Identifier: Apache-2.0
// Copies of all kinds, and memory of the host that is pinned, as a program sees them.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "simgpu/cuda/cuda_testing.h"

namespace berth::simgpu {
namespace {

CUdeviceptr unified(const void* at) {
  return std::bit_cast<CUdeviceptr>(at);
}

TEST(CudaCopies, RowsComeBackAsTheyWentThere) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              std::array<unsigned char, 60> picture{};
              std::iota(picture.begin(), picture.end(), 1);
              CUdeviceptr device = 0;
              std::size_t pitch = 0;
              REQUIRE_OK(cuMemAllocPitch_v2(&device, &pitch, 10, 6, 4));
              // Rows 1 to 4, without the first and the last byte of each.
              CUDA_MEMCPY2D up{};
              up.srcMemoryType = CU_MEMORYTYPE_HOST;
              up.srcHost = picture.data();
              up.srcPitch = 10;
              up.srcXInBytes = 1;
              up.srcY = 1;
              up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
              up.dstDevice = device;
              up.dstPitch = pitch;
              up.WidthInBytes = 8;
              up.Height = 4;
              REQUIRE_OK(cuMemcpy2D_v2(&up));
              std::array<unsigned char, 32> back{};
              CUDA_MEMCPY2D down{};
              down.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
              down.srcDevice = device;
              down.srcPitch = pitch;
              down.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
              down.dstDevice = unified(back.data());
              down.dstPitch = 8;
              down.WidthInBytes = 8;
              down.Height = 4;
              REQUIRE_OK(cuMemcpy2DAsync_v2(&down, nullptr));
              for (std::size_t row = 0; row < 4; ++row) {
                for (std::size_t i = 0; i < 8; ++i)
                  REQUIRE(back.at(row * 8 + i) == picture.at((row + 1) * 10 + i + 1));
              }
              down.srcPitch = 7;  // Rows that lie in one another.
              REQUIRE(cuMemcpy2D_v2(&down) == CUDA_ERROR_INVALID_VALUE);
              down.srcPitch = kGiB;  // Beyond its end.
              REQUIRE(cuMemcpy2D_v2(&down) == CUDA_ERROR_INVALID_VALUE);
              down.srcPitch = SIZE_MAX / 2;
              REQUIRE(cuMemcpy2D_v2(&down) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemcpy2D_v2(nullptr) == CUDA_ERROR_INVALID_VALUE);
            }));
}

TEST(CudaCopies, AddressesOfAnyKindAreToldApart) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUdeviceptr one = 0;
              CUdeviceptr other = 0;
              REQUIRE_OK(cuMemAlloc_v2(&one, 64));
              REQUIRE_OK(cuMemAlloc_v2(&other, 64));
              std::array<char, 64> host{"what is copied"};
              std::array<char, 64> back{};
              REQUIRE_OK(cuMemcpy(one, unified(host.data()), 64));
              REQUIRE_OK(cuMemcpyAsync(other, one, 64, nullptr));
              REQUIRE_OK(cuMemcpy(unified(back.data()), other, 64));
              REQUIRE(std::strcmp(back.data(), "what is copied") == 0);
              REQUIRE_OK(cuMemsetD8Async(one, 'x', 3, nullptr));
              REQUIRE_OK(cuMemcpyDtoDAsync_v2(other, one, 8, nullptr));
              REQUIRE_OK(cuMemcpyDtoHAsync_v2(back.data(), other, 8, nullptr));
              REQUIRE(std::strcmp(back.data(), "xxxt is copied") == 0);
              REQUIRE_OK(cuMemsetD32Async(one, 0x61616161, 1, nullptr));
              REQUIRE_OK(cuMemcpyHtoDAsync_v2(other, "bb", 2, nullptr));
              REQUIRE_OK(cuMemcpyPeerAsync(other + 2, nullptr, one, nullptr, 2, nullptr));
              REQUIRE_OK(cuMemcpy(unified(back.data()), other, 4));
              REQUIRE(std::strncmp(back.data(), "bbaa", 4) == 0);
              REQUIRE(cuMemcpy(one, unified(host.data()), kMiB * 64) == CUDA_ERROR_INVALID_VALUE);
            }));
}

// As a kernel that is launched there: it would be done when the graph is launched.
TEST(CudaCopies, InACapturedStreamNothingIsDone) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUdeviceptr device = 0;
              CUstream stream = nullptr;
              CUgraph graph = nullptr;
              REQUIRE_OK(cuMemAlloc_v2(&device, 64));
              REQUIRE_OK(cuMemsetD8_v2(device, 'a', 4));
              REQUIRE_OK(cuStreamCreate(&stream, 1));
              REQUIRE_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
              REQUIRE_OK(cuMemsetD8Async(device, 'b', 4, stream));
              REQUIRE_OK(cuStreamEndCapture(stream, &graph));
              std::array<char, 4> back{};
              REQUIRE_OK(cuMemcpyDtoH_v2(back.data(), device, 4));
              REQUIRE(back[0] == 'a');
            }));
}

TEST(CudaHost, PinnedMemoryIsSeenByTheDeviceAndTakesNothingOfIt) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              void* pinned = nullptr;
              REQUIRE_OK(cuMemHostAlloc(&pinned, 3 * kMiB, 2));
              REQUIRE(free_bytes() == kGiB);
              CUdeviceptr seen = 0;
              CUdeviceptr device = 0;
              REQUIRE_OK(cuMemHostGetDevicePointer_v2(&seen, pinned, 0));
              REQUIRE_OK(cuMemAlloc_v2(&device, 16));
              std::memcpy(pinned, "pinned", 7);
              REQUIRE_OK(cuMemcpyDtoD_v2(device, seen, 7));
              REQUIRE_OK(cuMemsetD8_v2(seen, 'x', 1));
              REQUIRE(std::strcmp(static_cast<char*>(pinned), "xinned") == 0);
              std::array<char, 7> back{};
              REQUIRE_OK(cuMemcpyDtoH_v2(back.data(), device, 7));
              REQUIRE(std::strcmp(back.data(), "pinned") == 0);
              REQUIRE(cuMemcpyDtoD_v2(device, seen + 3 * kMiB - 1, 2) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemHostUnregister(pinned) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
              REQUIRE_OK(cuMemFreeHost(pinned));
              REQUIRE(cuMemFreeHost(pinned) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemHostAlloc(&pinned, 0, 0) == CUDA_ERROR_INVALID_VALUE);
            }));
}

TEST(CudaHost, AProgramsOwnMemoryIsPinnedOnce) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        std::array<char, 4096> own{};
        CUdeviceptr seen = 0;
        REQUIRE(cuMemHostGetDevicePointer_v2(&seen, own.data(), 0) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE_OK(cuMemHostRegister_v2(own.data() + 64, 128, 0));
        for (const std::size_t at : {std::size_t{0}, std::size_t{64}, std::size_t{191}})
          REQUIRE(cuMemHostRegister_v2(own.data() + at, 65, 0) ==
                  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        REQUIRE_OK(cuMemHostRegister_v2(own.data(), 64, 0));
        REQUIRE_OK(cuMemHostRegister_v2(own.data() + 192, 1, 0));
        REQUIRE_OK(cuMemHostGetDevicePointer_v2(&seen, own.data() + 70, 0));
        REQUIRE(seen == unified(own.data() + 70));
        REQUIRE(cuMemFreeHost(own.data()) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE_OK(cuMemHostUnregister(own.data() + 64));
        REQUIRE(cuMemHostUnregister(own.data() + 64) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
      }));
}

}  // namespace
}  // namespace berth::simgpu
