// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, limits and green contexts, as a program sees them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "simgpu/cuda/cuda_testing.h"
#include "simgpu/cuda/globals.h"

namespace berth::simgpu {
namespace {

// A fat binary that says it is so long.
struct Image {
  std::uint32_t magic = 0xba55ed50;
  std::uint16_t version = 1;
  std::uint16_t header_bytes = 16;
  std::uint64_t bytes = 0;
};

TEST(CudaImages, CodeTakesItsSizeInWholeBlocksUntilItIsUnloaded) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUmodule module = nullptr;
              const Image image{.bytes = 3 * kMiB};
              const struct {
                std::uint32_t magic = 0x466243b1;
                std::uint32_t version = 1;
                const void* image = nullptr;
              } wrapper{.image = &image};
              for (const void* form :
                   {static_cast<const void*>(&image), static_cast<const void*>(&wrapper)}) {
                REQUIRE_OK(cuModuleLoadData(&module, form));
                REQUIRE(free_bytes() == kGiB - 4 * kMiB);
                REQUIRE_OK(cuModuleUnload(module));
                REQUIRE(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
                REQUIRE(free_bytes() == kGiB);
              }
              REQUIRE_OK(cuModuleLoadDataEx(&module, ".version 8.0", 0, nullptr, nullptr));
              REQUIRE(free_bytes() == kGiB - 2 * kMiB);
              REQUIRE(cuModuleLoadData(&module, "no code") == CUDA_ERROR_INVALID_IMAGE);
              REQUIRE(cuModuleLoad(&module, "/does/not/exist") == CUDA_ERROR_FILE_NOT_FOUND);
              REQUIRE_OK(cuModuleLoad(&module, "/proc/self/exe"));  // An ELF file, as cubins are.
              const Image large{.bytes = 2 * kGiB};
              REQUIRE(cuModuleLoadFatBinary(&module, &large) == CUDA_ERROR_OUT_OF_MEMORY);
              REQUIRE_OK(cuDevicePrimaryCtxReset_v2(0));
              use_device(0);
              REQUIRE(free_bytes() == kGiB);
            }));
}

TEST(CudaImages, VariablesOfCodeAreMemoryThatGoesWithIt) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        std::string cubin = cubin_with({{.name = "large", .bytes = 3 * kMiB, .initial = {}},
                                        {.name = "answer", .bytes = 8, .initial = {}}});
        CUmodule module = nullptr;
        REQUIRE_OK(cuModuleLoadData(&module, cubin.data()));
        REQUIRE(free_bytes() == kGiB - 4 * kMiB);
        CUdeviceptr pointer = 0;
        std::size_t bytes = 0;
        REQUIRE_OK(cuModuleGetGlobal_v2(&pointer, &bytes, module, "answer"));
        REQUIRE(bytes == 8);
        std::uint64_t value = 1;
        REQUIRE_OK(cuMemcpyDtoH_v2(&value, pointer, sizeof value));
        REQUIRE(value == 0);
        value = 42;
        REQUIRE_OK(cuMemcpyHtoD_v2(pointer, &value, sizeof value));
        std::uint64_t back = 0;
        REQUIRE_OK(cuMemcpyDtoH_v2(&back, pointer, sizeof back));
        REQUIRE(back == 42);
        REQUIRE(cuMemcpyHtoD_v2(pointer + 256, &value, 1) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(cuModuleGetGlobal_v2(&pointer, &bytes, module, "other") == CUDA_ERROR_NOT_FOUND);
        REQUIRE(cuModuleGetGlobal_v2(&pointer, &bytes, nullptr, "answer") ==
                CUDA_ERROR_INVALID_HANDLE);
        REQUIRE_OK(cuModuleUnload(module));
        REQUIRE(free_bytes() == kGiB);
        REQUIRE(cuMemcpyDtoH_v2(&back, pointer, 1) == CUDA_ERROR_INVALID_VALUE);
      }));
}

TEST(CudaImages, ALibraryIsNoContexts) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              CUlibrary library = nullptr;
              CUlibrary other = nullptr;
              const Image image{.bytes = kMiB};
              const auto load = [&](CUlibrary* into) {
                return cuLibraryLoadData(into, &image, nullptr, nullptr, 0, nullptr, nullptr, 0);
              };
              REQUIRE_OK(cuInit(0));
              REQUIRE_OK(load(&library));
              use_device(0);
              REQUIRE(free_bytes() == kGiB);
              REQUIRE_OK(load(&other));
              REQUIRE(free_bytes() == kGiB - 2 * kMiB);
              REQUIRE_OK(cuDevicePrimaryCtxReset_v2(0));
              use_device(0);
              REQUIRE(free_bytes() == kGiB);
              REQUIRE_OK(cuLibraryUnload(other));
              REQUIRE_OK(cuLibraryUnload(library));
              REQUIRE(cuLibraryUnload(library) == CUDA_ERROR_INVALID_HANDLE);
            }));
}

TEST(CudaImages, LimitsTakeWhatIsMoreThanUsual) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              std::size_t value = 0;
              REQUIRE_OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
              REQUIRE(value == 8 * kMiB);
              REQUIRE_OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * kMiB));
              REQUIRE(free_bytes() == kGiB - 56 * kMiB);
              REQUIRE_OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 64 * kMiB / 2048));
              REQUIRE(free_bytes() == kGiB - (56 + 62) * kMiB);
              REQUIRE(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, kGiB) == CUDA_ERROR_OUT_OF_MEMORY);
              REQUIRE_OK(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
              REQUIRE(value == kMiB);
              REQUIRE_OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1));
              REQUIRE(free_bytes() == kGiB - 62 * kMiB);
              REQUIRE(cuCtxSetLimit(static_cast<CUlimit>(9), 1) == CUDA_ERROR_UNSUPPORTED_LIMIT);
              REQUIRE_OK(cuDevicePrimaryCtxReset_v2(0));
              use_device(0);
              REQUIRE(free_bytes() == kGiB);
            }));
}

TEST(CudaImages, AGreenContextIsAViewOfThePrimaryOne) {
  const TemporaryWorld temporary("1x1GiB");
  EXPECT_EQ(0, in_child([] {
              CUdevResource resource{};
              CUdevResourceDesc what = nullptr;
              CUgreenCtx green = nullptr;
              CUcontext context = nullptr;
              CUdeviceptr pointer = 0;
              unsigned int flags = 0;
              int active = 0;
              REQUIRE_OK(cuInit(0));
              REQUIRE_OK(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
              REQUIRE_OK(cuDevResourceGenerateDesc(&what, &resource, 1));
              REQUIRE(cuGreenCtxCreate(&green, what, 0, 0) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE_OK(cuGreenCtxCreate(&green, what, 0, 1));
              REQUIRE_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
              REQUIRE(active == 1);
              REQUIRE_OK(cuCtxFromGreenCtx(&context, green));
              REQUIRE_OK(cuCtxSetCurrent(context));
              REQUIRE_OK(cuMemAlloc_v2(&pointer, 2 * kMiB));
              REQUIRE(free_bytes() == kGiB - 302 * kMiB);
              REQUIRE(cuCtxDestroy_v2(context) == CUDA_ERROR_INVALID_CONTEXT);
              use_device(0);
              REQUIRE_OK(cuGreenCtxDestroy(green));
              REQUIRE(cuGreenCtxDestroy(green) == CUDA_ERROR_INVALID_CONTEXT);
              REQUIRE(free_bytes() == kGiB - 302 * kMiB);  // The primary one has it.
              REQUIRE_OK(cuDevicePrimaryCtxRelease_v2(0));
              REQUIRE_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
              REQUIRE(active == 0);
            }));
}

}  // namespace
}  // namespace berth::simgpu
