// SPDX-License-Identifier: Apache-2.0
#include "sim/heap.h"

#include <cstddef>
#include <cstdlib>

#include "base/check.h"

namespace {

thread_local std::uint64_t allocated = 0;

}  // namespace

// Those for arrays call these. So do those that do not throw, but AddressSanitizer has its own, and
// what std::stable_sort() takes by them is given back here.
void* operator new(std::size_t size) {
  allocated += size;
  void* memory = std::malloc(size == 0 ? 1 : size);
  CHECK(memory != nullptr);
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return operator new(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace berth::sim {

std::uint64_t allocated_by(const std::function<void()>& work) {
  const std::uint64_t before = allocated;
  work();
  return allocated - before;
}

}  // namespace berth::sim
