// SPDX-License-Identifier: Apache-2.0
// Functions of modules, links, events and what else programs want to find, as they see it.
#include <gtest/gtest.h>

#include "simgpu/cuda/cuda_testing.h"

namespace berth::simgpu {
namespace {

TEST(CudaCode, AModuleHasEachFunctionThatItIsAskedFor) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        REQUIRE(cuModuleGetFunction(&function, module, "add") == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE_OK(cuModuleLoadData(&module, ".version 8.0"));
        REQUIRE(cuModuleGetFunction(&function, module, "") == CUDA_ERROR_NOT_FOUND);
        REQUIRE_OK(cuModuleGetFunction(&function, module, "add"));
        int value = -1;
        REQUIRE_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
        REQUIRE(value == 1024);
        REQUIRE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, function) ==
                CUDA_ERROR_INVALID_VALUE);
        REQUIRE_OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
        REQUIRE(cuFuncSetCacheConfig(nullptr, {}) == CUDA_ERROR_INVALID_HANDLE);
        int grid = 0;
        int block = 0;
        REQUIRE_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 96));
        REQUIRE(grid == 1 && block == 96);
        REQUIRE_OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
      }));
}

TEST(CudaCode, WhatWasLinkedCanBeLoaded) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        CUlinkState link = nullptr;
        REQUIRE(cuLinkDestroy(link) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE_OK(cuLinkCreate_v2(0, nullptr, nullptr, &link));
        char code[] = ".version 8.0\n.const .align 4 .b8 table[5];";
        REQUIRE_OK(cuLinkAddData_v2(link, {}, code, sizeof code, "code", 0, nullptr, nullptr));
        REQUIRE(cuLinkAddData(link, {}, nullptr, 0, "", 0, nullptr, nullptr) ==
                CUDA_ERROR_INVALID_VALUE);
        void* cubin = nullptr;
        std::size_t bytes = 0;
        REQUIRE_OK(cuLinkComplete(link, &cubin, &bytes));
        REQUIRE(bytes > 0);
        CUmodule module = nullptr;
        REQUIRE_OK(cuModuleLoadData(&module, cubin));
        CUdeviceptr table = 0;
        REQUIRE_OK(cuModuleGetGlobal_v2(&table, &bytes, module, "table"));
        REQUIRE(bytes == 5);
        REQUIRE_OK(cuLinkDestroy(link));
        REQUIRE(cuLinkDestroy(link) == CUDA_ERROR_INVALID_HANDLE);
      }));
}

TEST(CudaCode, WhatNobodyCanUseHereSaysSo) {
  const TemporaryWorld temporary("2x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              REQUIRE(cuGraphicsMapResources() == CUDA_ERROR_NOT_SUPPORTED);
              REQUIRE(cuEGLStreamProducerConnect() == CUDA_ERROR_NOT_SUPPORTED);
              int can = 1;
              REQUIRE_OK(cuDeviceCanAccessPeer(&can, 0, 1));
              REQUIRE(can == 0);
              REQUIRE(cuDeviceCanAccessPeer(&can, 0, 2) == CUDA_ERROR_INVALID_DEVICE);
              CUcontext current = nullptr;
              REQUIRE_OK(cuCtxGetCurrent(&current));
              REQUIRE(cuCtxEnablePeerAccess(current, 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
              const void* table = nullptr;
              const CUuuid id{};
              REQUIRE(cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_FOUND);
              REQUIRE(table == nullptr);
            }));
}

TEST(CudaEvents, TellHowLongItWasBetweenThem) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        CUevent start = nullptr;
        CUevent end = nullptr;
        CUevent untimed = nullptr;
        float milliseconds = -1;
        REQUIRE_OK(cuEventCreate(&start, 0));
        REQUIRE_OK(cuEventCreate(&end, 1));
        REQUIRE_OK(cuEventCreate(&untimed, 2));
        REQUIRE(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE_OK(cuEventRecord(start, nullptr));
        REQUIRE_OK(cuEventRecord(end, nullptr));
        REQUIRE_OK(cuEventRecord(untimed, nullptr));
        REQUIRE_OK(cuEventSynchronize(end));
        REQUIRE_OK(cuEventQuery(end));
        REQUIRE_OK(cuStreamWaitEvent(nullptr, end, 0));
        REQUIRE_OK(cuStreamQuery(nullptr));
        REQUIRE_OK(cuEventElapsedTime(&milliseconds, start, end));
        REQUIRE(milliseconds >= 0 && milliseconds < 1e4F);
        REQUIRE(cuEventElapsedTime(&milliseconds, start, untimed) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE(cuEventCreate(&start, 8) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE_OK(cuEventDestroy_v2(end));
        REQUIRE(cuEventDestroy_v2(end) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE(cuEventSynchronize(end) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE(cuEventRecord(end, nullptr) == CUDA_ERROR_INVALID_HANDLE);
      }));
}

}  // namespace
}  // namespace berth::simgpu
