// SPDX-License-Identifier: Apache-2.0
// The simulated driver as a program sees it, through its functions. Each test is a process of its
// own, because a driver's state is its process's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "simgpu/cuda/cuda_testing.h"
#include "simgpu/world/device_text.h"

namespace berth::simgpu {
namespace {

TEST(Cuda, NothingWorksBeforeCuInit) {
  const TemporaryWorld world("1x16GiB");
  EXPECT_EQ(0, in_child([] {
              int count = 0;
              CUdeviceptr pointer = 0;
              REQUIRE(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
              REQUIRE(cuMemAlloc_v2(&pointer, 1) == CUDA_ERROR_NOT_INITIALIZED);
              REQUIRE(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE_OK(cuInit(0));
              REQUIRE_OK(cuInit(0));
              REQUIRE(cuMemAlloc_v2(&pointer, 1) == CUDA_ERROR_INVALID_CONTEXT);
            }));
}

TEST(Cuda, ABadSpecIsNoDeviceAndNoCrash) {
  for (const char* spec : {"nonsense", "0x16GiB", "1x16GiB,what=1"}) {
    const TemporaryWorld world(spec);
    EXPECT_EQ(0, in_child([] { REQUIRE(cuInit(0) == CUDA_ERROR_NO_DEVICE); }));
  }
  ::unsetenv("BERTH_SIM");
  EXPECT_EQ(0, in_child([] { REQUIRE(cuInit(0) == CUDA_ERROR_NO_DEVICE); }));
}

TEST(Cuda, DevicesAreThoseOfTheWorld) {
  const TemporaryWorld temporary("1x16GiB:RTX-5080,1x24GiB");
  const World world = temporary.open();
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  EXPECT_EQ(0, in_child([&] {
              int count = 0;
              std::array<char, 64> text{};
              CUuuid uuid{};
              std::size_t total = 0;
              int value = 0;
              REQUIRE_OK(cuInit(0));
              REQUIRE_OK(cuDeviceGetCount(&count));
              REQUIRE(count == 2);
              REQUIRE_OK(cuDeviceGetName(text.data(), 64, 0));
              REQUIRE(std::string(text.data()) == "RTX-5080 (simulated)");
              REQUIRE_OK(cuDeviceGetName(text.data(), 4, 0));
              REQUIRE(std::string(text.data()) == "RTX");
              REQUIRE_OK(cuDeviceGetUuid_v2(&uuid, 1));
              REQUIRE(std::memcmp(&uuid, world.file().devices[1].uuid.data(), 16) == 0);
              REQUIRE_OK(cuDeviceTotalMem_v2(&total, 1));
              REQUIRE(total == 24 * kGiB);
              REQUIRE_OK(cuDeviceGetPCIBusId(text.data(), 64, 1));
              REQUIRE(std::string(text.data()) == "0000:02:00.0");
              REQUIRE_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1));
              REQUIRE(value == 2);
              REQUIRE_OK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(95), 1));
              REQUIRE(value == 0);  // Cooperative launches.
              // What it can do, it says.
              for (const CUdevice_attribute able :
                   {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                    CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES}) {
                REQUIRE_OK(cuDeviceGetAttribute(&value, able, 1));
                REQUIRE(value == 1);
              }
              REQUIRE(cuDeviceTotalMem_v2(&total, 2) == CUDA_ERROR_INVALID_DEVICE);
              REQUIRE(cuDeviceTotalMem_v2(&total, -1) == CUDA_ERROR_INVALID_DEVICE);
            }));
}

TEST(Cuda, VisibleDevicesAreRenumbered) {
  const TemporaryWorld temporary("1x16GiB,1x24GiB");
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  EXPECT_EQ(0, in_child([] {
              std::size_t total = 0;
              REQUIRE_OK(cuInit(0));
              REQUIRE_OK(cuDeviceTotalMem_v2(&total, 0));
              REQUIRE(total == 24 * kGiB);
              REQUIRE(cuDeviceTotalMem_v2(&total, 1) == CUDA_ERROR_INVALID_DEVICE);
              use_device(0);
              REQUIRE(free_bytes() == 24 * kGiB - 300 * kMiB);
            }));
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(0, in_child([] { REQUIRE(cuInit(0) == CUDA_ERROR_NO_DEVICE); }));
}

TEST(Cuda, AnArrayTakesRowsOf512BytesAndEndsByItsHandleAlone) {
  const TemporaryWorld temporary("1x16GiB");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        const std::size_t before = free_bytes();
        CUarray array = nullptr;
        CUDA_ARRAY_DESCRIPTOR what{.Width = 129,  // Of 4 bytes: two rows of 512 each.
                                   .Height = 2 * kMiB / 1024,
                                   .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                   .NumChannels = 4};
        REQUIRE_OK(cuArrayCreate_v2(&array, &what));
        REQUIRE(before - free_bytes() == 2 * kMiB);
        REQUIRE(cuMemFree_v2(reinterpret_cast<CUdeviceptr>(array)) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(cuMipmappedArrayDestroy(reinterpret_cast<CUmipmappedArray>(array)) ==
                CUDA_ERROR_INVALID_HANDLE);
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
        REQUIRE(cuArrayGetMemoryRequirements(&needs, array, 0) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE_OK(cuArrayDestroy(array));
        REQUIRE(cuArrayDestroy(array) == CUDA_ERROR_INVALID_HANDLE);
        REQUIRE(free_bytes() == before);
        what.NumChannels = 3;
        REQUIRE(cuArrayCreate_v2(&array, &what) == CUDA_ERROR_INVALID_VALUE);
        what = {.Width = 0, .Height = 1, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
        REQUIRE(cuArrayCreate_v2(&array, &what) == CUDA_ERROR_INVALID_VALUE);
      }));
}

TEST(Cuda, TheOverheadIsPaidOnceAProcessAndDevice) {
  const TemporaryWorld temporary("1x16GiB,context=500MiB");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              REQUIRE(free_bytes() == 16 * kGiB - 500 * kMiB);
              CUcontext second = nullptr;
              REQUIRE_OK(cuCtxCreate_v2(&second, 0, 0));
              REQUIRE(free_bytes() == 16 * kGiB - 500 * kMiB);
              REQUIRE_OK(cuCtxDestroy_v2(second));
              REQUIRE(free_bytes() == 16 * kGiB - 500 * kMiB);
              REQUIRE_OK(cuDevicePrimaryCtxRelease_v2(0));
              REQUIRE_OK(cuCtxCreate_v2(&second, 0, 0));
              REQUIRE(free_bytes() == 16 * kGiB - 500 * kMiB);
            }));
  World world = temporary.open();
  EXPECT_EQ(world.figures(0).used, Bytes{});
  EXPECT_EQ(world.figures(0).used_max, mib(500));
}

TEST(Cuda, AContextThatDoesNotFitIsRefusedAndCostsNothing) {
  const TemporaryWorld temporary("1x200MiB");
  EXPECT_EQ(0, in_child([] {
              CUcontext context = nullptr;
              REQUIRE_OK(cuInit(0));
              REQUIRE(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_OUT_OF_MEMORY);
              REQUIRE(cuCtxCreate_v2(&context, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
            }));
  EXPECT_EQ(temporary.open().figures(0).used_max, Bytes{});
}

TEST(Cuda, OutOfMemoryComesExactlyAtCapacityAndLeavesThePointer) {
  const TemporaryWorld temporary("1x1GiB,context=300MiB");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUdeviceptr first = 0;
              CUdeviceptr second = 42;
              REQUIRE_OK(cuMemAlloc_v2(&first, kGiB - 300 * kMiB));
              REQUIRE(free_bytes() == 0);
              REQUIRE(cuMemAlloc_v2(&second, 1) == CUDA_ERROR_OUT_OF_MEMORY);
              REQUIRE(second == 42);
              REQUIRE_OK(cuMemFree_v2(first));
              REQUIRE(cuMemAlloc_v2(&second, ~std::size_t{0}) == CUDA_ERROR_OUT_OF_MEMORY);
              REQUIRE(cuMemAlloc_v2(&second, 0) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemFree_v2(first) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE_OK(cuMemAlloc_v2(&second, 1));
              REQUIRE_OK(cuMemFree_v2(0));
            }));
}

TEST(Cuda, DataComeBackAsTheyWereWritten) {
  const TemporaryWorld temporary("2x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUdeviceptr here = 0;
              CUdeviceptr there = 0;
              REQUIRE_OK(cuMemAlloc_v2(&here, 8 * kMiB));
              use_device(1);
              REQUIRE_OK(cuMemAlloc_v2(&there, 4096));
              const std::string text = "in device memory";
              std::array<char, 64> back{};
              REQUIRE_OK(cuMemcpyHtoD_v2(here + 5, text.data(), text.size()));
              REQUIRE_OK(cuMemcpyDtoD_v2(there + 9, here + 5, text.size()));
              REQUIRE_OK(cuMemcpyDtoH_v2(back.data(), there + 9, text.size()));
              REQUIRE(text == back.data());
              REQUIRE_OK(cuMemsetD32_v2(there, 0x01020304, 2));
              REQUIRE_OK(cuMemsetD8_v2(there + 4, 9, 1));
              REQUIRE_OK(cuMemcpyDtoH_v2(back.data(), there, 8));
              REQUIRE(std::memcmp(back.data(), "\4\3\2\1\11\3\2\1", 8) == 0);
              REQUIRE(cuMemcpyHtoD_v2(there + 4095, "ab", 2) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemcpyDtoH_v2(back.data(), 77, 1) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemsetD32_v2(there + 1, 0, 1) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemsetD32_v2(there, 0, ~std::size_t{0}) == CUDA_ERROR_INVALID_VALUE);
            }));
}

TEST(Cuda, WhatAContextAllocatedGoesWithIt) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUcontext context = nullptr;
              CUdeviceptr pointer = 0;
              REQUIRE_OK(cuCtxCreate_v2(&context, 0, 0));
              REQUIRE_OK(cuMemAlloc_v2(&pointer, 512 * kMiB));
              REQUIRE_OK(cuCtxDestroy_v2(context));
              REQUIRE(free_bytes() == kGiB);
              REQUIRE(cuMemFree_v2(pointer) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuCtxSetCurrent(context) == CUDA_ERROR_INVALID_CONTEXT);
              REQUIRE_OK(cuMemAlloc_v2(&pointer, 512 * kMiB));
              REQUIRE_OK(cuDevicePrimaryCtxReset_v2(0));
              REQUIRE(cuMemAlloc_v2(&pointer, 1) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
              use_device(0);
              REQUIRE(free_bytes() == kGiB);
            }));
}

TEST(Cuda, EachThreadHasItsOwnStackOfContexts) {
  const TemporaryWorld temporary("2x1GiB");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUcontext first = nullptr;
              REQUIRE_OK(cuCtxGetCurrent(&first));
              CUcontext second = nullptr;
              REQUIRE_OK(cuCtxCreate_v4(&second, nullptr, 0, 1));
              CUdevice device = 0;
              REQUIRE_OK(cuCtxGetDevice(&device));
              REQUIRE(device == 1);
              std::thread([&] {
                CUcontext current = second;
                REQUIRE_OK(cuCtxGetCurrent(&current));
                REQUIRE(current == nullptr);
                REQUIRE(cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
                REQUIRE_OK(cuCtxPushCurrent_v2(first));
                REQUIRE_OK(cuCtxGetDevice(&device));
                REQUIRE(device == 0);
              }).join();
              CUcontext popped = nullptr;
              REQUIRE_OK(cuCtxPopCurrent_v2(&popped));
              REQUIRE(popped == second);
              REQUIRE_OK(cuCtxGetCurrent(&popped));
              REQUIRE(popped == first);
            }));
}

TEST(Cuda, ThePrimaryContextIsCounted) {
  const TemporaryWorld temporary("1x1GiB");
  EXPECT_EQ(0, in_child([] {
              CUcontext one = nullptr;
              CUcontext two = nullptr;
              unsigned int flags = 7;
              int active = 7;
              REQUIRE_OK(cuInit(0));
              REQUIRE_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
              REQUIRE(active == 0);
              REQUIRE(cuDevicePrimaryCtxRelease_v2(0) == CUDA_ERROR_INVALID_CONTEXT);
              REQUIRE_OK(cuDevicePrimaryCtxSetFlags_v2(0, 4));
              REQUIRE_OK(cuDevicePrimaryCtxRetain(&one, 0));
              REQUIRE_OK(cuDevicePrimaryCtxRetain(&two, 0));
              REQUIRE(one == two);
              REQUIRE(cuCtxDestroy_v2(one) == CUDA_ERROR_INVALID_CONTEXT);
              REQUIRE_OK(cuDevicePrimaryCtxRelease_v2(0));
              REQUIRE_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
              REQUIRE(active == 1 && flags == 4);
              REQUIRE_OK(cuDevicePrimaryCtxRelease_v2(0));
              REQUIRE_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
              REQUIRE(active == 0);
            }));
}

TEST(Cuda, AForkedChildHasNoDriver) {
  const TemporaryWorld temporary("1x1GiB");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              REQUIRE(in_child([] {
                        CUdeviceptr pointer = 0;
                        REQUIRE(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED);
                        REQUIRE(cuMemAlloc_v2(&pointer, 1) == CUDA_ERROR_NOT_INITIALIZED);
                      }) == 0);
              REQUIRE(free_bytes() == kGiB - 300 * kMiB);
            }));
}

TEST(Cuda, ALostDeviceFailsAndItsNeighbourGoesOn) {
  const TemporaryWorld temporary("2x1GiB");
  const World world = temporary.open();
  EXPECT_EQ(0, in_child([&] {
              CUdeviceptr pointer = 0;
              CUcontext context = nullptr;
              use_device(0);
              world.file().devices[0].lost = 1;
              REQUIRE(cuMemAlloc_v2(&pointer, 1) == CUDA_ERROR_UNKNOWN);
              REQUIRE(cuCtxCreate_v2(&context, 0, 0) == CUDA_ERROR_DEVICE_UNAVAILABLE);
              use_device(1);
              REQUIRE_OK(cuMemAlloc_v2(&pointer, 1));
            }));
}

TEST(Cuda, GetProcAddressGivesTheVersionThatTheCallerKnows) {
  struct Case {
    const char* name;
    int version;
    void* address;
    CUdriverProcAddressQueryResult status;
  };
  const auto at = [](auto* function) { return reinterpret_cast<void*>(function); };
  const Case cases[] = {
      {"cuMemAlloc", 12000, at(&cuMemAlloc_v2), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuMemAlloc", 3020, at(&cuMemAlloc_v2), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuMemAlloc", 3010, at(&cuMemAlloc), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuMemCreate", 10010, nullptr, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
      {"cuCtxCreate", 2000, at(&cuCtxCreate), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuCtxCreate", 11000, at(&cuCtxCreate_v2), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuCtxCreate", 11040, at(&cuCtxCreate_v3), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuCtxCreate", 12050, at(&cuCtxCreate_v4), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuGetProcAddress", 11030, at(&cuGetProcAddress), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuGetProcAddress", 12090, at(&cuGetProcAddress_v2), CU_GET_PROC_ADDRESS_SUCCESS},
      {"cuDoesNotExist", 12000, nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
      {"cuMemAlloc_v2", 12000, nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
  };
  void* own = nullptr;  // With a default stream for each thread.
  EXPECT_EQ(cuGetProcAddress("cuGraphLaunch", &own, 12000, 2), CUDA_SUCCESS);
  EXPECT_EQ(own, at(&cuGraphLaunch_ptsz));
  EXPECT_EQ(cuGetProcAddress("cuGraphLaunch", &own, 12000, 1), CUDA_SUCCESS);
  EXPECT_EQ(own, at(&cuGraphLaunch));
  for (const Case& query : cases) {
    for (const cuuint64_t flags : {0U, 1U, 2U}) {
      void* found = static_cast<void*>(&found);
      CUdriverProcAddressQueryResult status{};
      EXPECT_EQ(cuGetProcAddress_v2(query.name, &found, query.version, flags, &status),
                CUDA_SUCCESS);
      EXPECT_EQ(found, query.address) << query.name << " " << query.version;
      EXPECT_EQ(status, query.status) << query.name << " " << query.version;
      EXPECT_EQ(cuGetProcAddress(query.name, &found, query.version, flags),
                query.address == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS);
    }
  }
  void* found = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuInit", &found, 99999, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", &found, 12000, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress(nullptr, &found, 12000, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(Cuda, TheFunctionsOfCuda2HaveAddressesOf32Bits) {
  const TemporaryWorld temporary("1x16GiB,context=0");
  EXPECT_EQ(
      0, in_child([] {
        use_device(0);
        CUdeviceptr_v1 one = 0;
        CUdeviceptr_v1 two = 77;
        CUdeviceptr_v1 base = 0;
        unsigned int bytes = 0;
        unsigned int total = 0;
        REQUIRE_OK(cuDeviceTotalMem(&total, 0));
        REQUIRE(total == 0xffff'ffff);
        REQUIRE_OK(cuMemAlloc(&one, 3u << 30U));
        REQUIRE(cuMemAlloc(&two, 2u << 30U) == CUDA_ERROR_OUT_OF_MEMORY);  // Out of reach.
        REQUIRE(two == 77 && free_bytes() == 13 * kGiB);
        REQUIRE_OK(cuMemGetAddressRange(&base, &bytes, one + 5));
        REQUIRE(base == one && bytes == 3u << 30U);
        REQUIRE(cuMemFree_v2(one) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(cuMemFree(one + 1) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE_OK(cuMemFree(one));
        REQUIRE_OK(cuMemFree(0));
        REQUIRE_OK(cuMemAllocPitch(&one, &bytes, 513, 4'096, 4));
        REQUIRE(bytes == 1'024 && free_bytes() == 16 * kGiB - 4 * kMiB);
        CUarray array = nullptr;
        const CUDA_ARRAY_DESCRIPTOR_v1 what{
            .Width = 512, .Height = 4'096, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
        REQUIRE_OK(cuArrayCreate(&array, &what));
        unsigned int free = 0;
        REQUIRE_OK(cuMemGetInfo(&free, &total));
        REQUIRE(free == 0xffff'ffff && free_bytes() == 16 * kGiB - 6 * kMiB);
      }));
}

TEST(Cuda, ErrorsHaveNamesAndWords) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST(Cuda, ThreadsThatAllocateAtOnceLeaveNothing) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              std::vector<std::thread> threads;
              for (int i = 0; i < 4; ++i) {
                threads.emplace_back([i] {
                  use_device(0);
                  for (int round = 0; round < 2'000; ++round) {
                    CUdeviceptr pointer = 0;
                    const std::size_t bytes = static_cast<std::size_t>(i + 1) * 700'000;
                    REQUIRE_OK(cuMemAlloc_v2(&pointer, bytes));
                    REQUIRE_OK(cuMemFree_v2(pointer));
                  }
                });
              }
              for (std::thread& thread : threads) thread.join();
              REQUIRE(free_bytes() == kGiB);
            }));
}

}  // namespace
}  // namespace berth::simgpu
