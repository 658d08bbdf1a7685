// SPDX-License-Identifier: Apache-2.0
// Memory of other processes, as programs see it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <string>

#include "simgpu/cuda/cuda_testing.h"
#include "simgpu/cuda/shared_memory.h"

namespace berth::simgpu {
namespace {

// What one child tells the other.
struct Told {
  CUipcMemHandle handle;
  CUmemPoolPtrExportData pointer;
  int pid;
  int fd;
};
Told& shared_by_children() {
  void* at =
      ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<Told*>(at);
}

std::size_t counted() {
  std::size_t bytes = 0;
  REQUIRE_OK(berthSimulatedUsedBytes(&bytes, 0));
  return bytes;
}

void write_text(CUdeviceptr at, const std::string& text) {
  REQUIRE_OK(cuMemcpyHtoD_v2(at, text.data(), text.size()));
}

bool has_text(CUdeviceptr at, const std::string& text) {
  std::string back(text.size(), ' ');
  return cuMemcpyDtoH_v2(back.data(), at, text.size()) == CUDA_SUCCESS && back == text;
}

TEST(CudaForeign, TwoProcessesHaveOneAllocationAndOneOfThemIsCharged) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  Told& told = shared_by_children();
  Child owner([&](Child& self) {
    use_device(0);
    CUdeviceptr small = 0;
    CUdeviceptr pointer = 0;
    REQUIRE_OK(cuMemAlloc_v2(&small, 1'000));
    REQUIRE_OK(cuMemAlloc_v2(&pointer, 5'000));  // In the midst of a block and of a page.
    write_text(pointer, "from its owner");
    REQUIRE(cuIpcGetMemHandle(&told.handle, pointer + 1) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE_OK(cuIpcGetMemHandle(&told.handle, pointer));
    CUdeviceptr again = 0;
    REQUIRE(cuIpcOpenMemHandle_v2(&again, told.handle, 1) == CUDA_ERROR_INVALID_CONTEXT);
    self.tell_parent();
    self.wait_for_parent();
    REQUIRE(has_text(pointer, "from another "));
    REQUIRE(counted() == 2 * kMiB);
  });
  ASSERT_TRUE(owner.wait_for_child());
  EXPECT_EQ(0, in_child([&] {
              use_device(0);
              CUdeviceptr pointer = 0;
              REQUIRE_OK(cuIpcOpenMemHandle_v2(&pointer, told.handle, 1));
              REQUIRE(has_text(pointer, "from its owner"));
              write_text(pointer, "from another ");
              REQUIRE(cuMemcpyHtoD_v2(pointer + 4'999, "ab", 2) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(cuMemFree_v2(pointer) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(counted() == 0);
              REQUIRE_OK(cuIpcCloseMemHandle(pointer));
              REQUIRE(cuIpcCloseMemHandle(pointer) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE(!has_text(pointer, "from another "));
            }));
  owner.tell_child();
  EXPECT_EQ(owner.wait(), 0);
}

TEST(CudaForeign, APieceOfAPoolIsReadElsewhere) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  Told& told = shared_by_children();
  Child owner([&](Child& self) {
    use_device(0);
    CUmemPoolProps what{};
    what.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool = nullptr;
    CUmemoryPool own = nullptr;
    CUdeviceptr pointer = 0;
    REQUIRE_OK(cuDeviceGetDefaultMemPool(&own, 0));
    REQUIRE(cuMemPoolExportToShareableHandle(&told.fd, own, what.handleTypes, 0) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE_OK(cuMemPoolCreate(&pool, &what));
    REQUIRE_OK(cuMemAllocFromPoolAsync(&pointer, 1'000, pool, nullptr));
    write_text(pointer, "of a pool");
    REQUIRE_OK(cuMemPoolExportToShareableHandle(&told.fd, pool, what.handleTypes, 0));
    REQUIRE_OK(cuMemPoolExportPointer(&told.pointer, pointer));
    told.pid = ::getpid();
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(owner.wait_for_child());
  EXPECT_EQ(0, in_child([&] {
              use_device(0);
              CUmemoryPool pool = nullptr;
              CUdeviceptr pointer = 0;
              const os::UniqueFd fd(open_memory_file("/proc/" + std::to_string(told.pid) + "/fd/" +
                                                     std::to_string(told.fd)));
              auto* handle = std::bit_cast<void*>(std::intptr_t{fd.get()});
              REQUIRE_OK(cuMemPoolImportFromShareableHandle(
                  &pool, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
              REQUIRE_OK(cuMemPoolImportPointer(&pointer, pool, &told.pointer));
              REQUIRE(has_text(pointer, "of a pool"));
              REQUIRE(counted() == 0);
              REQUIRE_OK(cuMemFreeAsync(pointer, nullptr));
              REQUIRE(cuMemFreeAsync(pointer, nullptr) == CUDA_ERROR_INVALID_VALUE);
              REQUIRE_OK(cuMemPoolDestroy(pool));
            }));
  owner.tell_child();
  EXPECT_EQ(owner.wait(), 0);
}

TEST(CudaForeign, ExternalMemoryIsMappedAndTakesNothing) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  EXPECT_EQ(0, in_child([] {
              use_device(0);
              CUexternalMemory memory = nullptr;
              CUdeviceptr pointer = 0;
              CUDA_EXTERNAL_MEMORY_HANDLE_DESC what{};
              what.type = kOpaqueDescriptor;
              what.handle.fd = make_memory_file("of another API", kMiB).release();
              what.size = 2 * kMiB;
              REQUIRE(cuImportExternalMemory(&memory, &what) == CUDA_ERROR_INVALID_VALUE);
              what.size = kMiB;
              REQUIRE(::pwrite(what.handle.fd, "pixels", 6, 5'000) == 6);
              REQUIRE_OK(cuImportExternalMemory(&memory, &what));
              CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
              part.offset = 5'000;
              part.size = kMiB;
              REQUIRE(cuExternalMemoryGetMappedBuffer(&pointer, memory, &part) ==
                      CUDA_ERROR_INVALID_VALUE);
              part.size = 6;
              REQUIRE_OK(cuExternalMemoryGetMappedBuffer(&pointer, memory, &part));
              REQUIRE_OK(cuDestroyExternalMemory(memory));
              REQUIRE(cuDestroyExternalMemory(memory) == CUDA_ERROR_INVALID_HANDLE);
              REQUIRE(has_text(pointer, "pixels") && counted() == 0);
              REQUIRE_OK(cuMemFree_v2(pointer));
              REQUIRE(cuMemFree_v2(pointer) == CUDA_ERROR_INVALID_VALUE);
            }));
}

}  // namespace
}  // namespace berth::simgpu
