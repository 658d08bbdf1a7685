// SPDX-License-Identifier: Apache-2.0
#include "elsewhere.h"

namespace {

Allocation to_be_made(Route& route, std::size_t bytes) {
  return {.alloc = route.find("cuMemAlloc_v2"), .bytes = bytes, .pointer = 0, .result = -1};
}

void make(Allocation& allocation) {
  allocation.result = call(allocation.alloc, &allocation.pointer, allocation.bytes);
}

void make_in_host_function(void* data) {
  make(*static_cast<Allocation*>(data));
}

void make_in_callback(void* /*stream*/, int /*result*/, void* data) {
  make(*static_cast<Allocation*>(data));
}

}  // namespace

Later::~Later() {
  if (thread_.joinable()) thread_.join();
}

void Later::start(Route& route, std::size_t bytes) {
  allocation_ = to_be_made(route, bytes);
  void* context = nullptr;
  (void)call(route.find("cuCtxGetCurrent"), &context);
  const Any enter = route.find("cuCtxSetCurrent");
  thread_ = std::thread([this, enter, context] {
    (void)call(enter, context);
    make(allocation_);
  });
}

const Allocation& Later::join() {
  thread_.join();
  return allocation_;
}

Allocation allocate_when_called(Route& route, Called how, std::size_t bytes) {
  Allocation allocation = to_be_made(route, bytes);
  void* const stream = nullptr;
  if (how == Called::kHostFunction) {
    (void)call(route.find("cuLaunchHostFunc"), stream, &make_in_host_function, &allocation);
  } else {
    (void)call(route.find("cuStreamAddCallback"), stream, &make_in_callback, &allocation, 0U);
  }
  return allocation;
}
