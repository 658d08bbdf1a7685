// SPDX-License-Identifier: Apache-2.0
#include "trainer/memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "trainer/libtorch.h"
#include "trainer/libtorch_cuda.h"

namespace berth::trainer {
namespace {

// Vector instructions want this alignment. The size of a block stands in the line before it.
constexpr std::size_t kLine = 64;
// Blocks up to a GiB stay in the process: giving each back costs a page fault a page at the next.
constexpr int kKeptBytes = 1 << 30;

std::atomic<std::uint64_t> bytes_now{0};
std::atomic<std::uint64_t> bytes_peak{0};
std::atomic<std::uint64_t> bytes_most{UINT64_MAX};
std::atomic<std::uint64_t> allocations{0};

void raise_peak(std::uint64_t now) {
  std::uint64_t peak = bytes_peak.load();
  while (now > peak && !bytes_peak.compare_exchange_weak(peak, now)) {
  }
}

void give_back(void* data) {
  if (data == nullptr) return;
  char* block = static_cast<char*>(data) - kLine;
  bytes_now -= *reinterpret_cast<std::uint64_t*>(block);
  std::free(block);
}

// libtorch has an exception of its own for it, on the GPU; the others tell it by their text alone.
bool is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const std::string_view text = error.what();
  return text.find("out of memory") != std::string_view::npos ||
         text.find("can't allocate memory") != std::string_view::npos ||
         text.find("CUBLAS_STATUS_ALLOC_FAILED") != std::string_view::npos;
}

class CountingAllocator final : public Allocator {
 public:
  at::DeleterFnPtr raw_deleter() const override { return &give_back; }

 private:
  at::DataPtr take(std::size_t bytes) const override {
    if (bytes == 0) return {nullptr, nullptr, &give_back, at::Device(at::kCPU)};
    const std::uint64_t now = bytes_now += bytes;
    void* block = nullptr;
    // The sum of the two may not wrap around where someone asks for the absurd.
    if (now <= bytes_most && bytes <= SIZE_MAX - 2 * kLine) {
      block = std::aligned_alloc(kLine, (bytes + 2 * kLine - 1) / kLine * kLine);
    }
    if (block == nullptr) bytes_now -= bytes;
    TORCH_CHECK(block != nullptr, "out of memory: ", bytes, " bytes were asked for");
    *static_cast<std::uint64_t*>(block) = bytes;
    raise_peak(now);
    ++allocations;
    void* data = static_cast<char*>(block) + kLine;
    return {data, data, &give_back, at::Device(at::kCPU)};
  }
};

}  // namespace

void count_tensor_memory() {
  static CountingAllocator allocator;
  static std::once_flag once;
  std::call_once(once, [] {
    mallopt(M_MMAP_THRESHOLD, kKeptBytes);
    mallopt(M_TRIM_THRESHOLD, kKeptBytes);
    c10::SetCPUAllocator(&allocator, 1);
  });
}

TensorMemory tensor_memory() {
  return {.now = {bytes_now}, .peak = {bytes_peak}, .allocations = allocations};
}

void reset_tensor_memory_peak() {
  bytes_peak = bytes_now.load();
}

TensorMemory tensor_memory(train::Device device) {
  return device == train::Device::kCpu ? tensor_memory() : cuda_memory();
}

void reset_tensor_memory_peak(train::Device device) {
  device == train::Device::kCpu ? reset_tensor_memory_peak() : reset_cuda_peak();
}

void release_unused(train::Device device) {
  if (device != train::Device::kCpu) release_cuda_cache();
}

Status caught(const std::function<void()>& work) {
  try {
    work();
    return Unit{};
  } catch (const c10::Error& error) {
    return Error{is_out_of_memory(error) ? Errc::kExhausted : Errc::kInvalid,
                 error.what_without_backtrace()};
  } catch (const std::bad_alloc&) {
    return Error{Errc::kExhausted, "out of memory"};
  }
}

void limit_tensor_memory(Bytes most) {
  bytes_most = most.value;
}

}  // namespace berth::trainer
