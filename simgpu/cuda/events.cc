// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for events, and those of streams that have to do with them. Any
// thread with a current context may call these.
#include "simgpu/cuda/events.h"

#include <bit>

#include "os/clock.h"
#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

constexpr unsigned int kNoTiming = 2;  // CU_EVENT_DISABLE_TIMING
constexpr unsigned int kFlags = 7;

// body(event)
template <class Body>
CUresult with_event(CUevent event, Body body) {
  return with_context([&](Driver& driver, Context&) {
    Events::Event* found = driver.events().find(std::bit_cast<Events::Handle>(event));
    return found == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*found);
  });
}

}  // namespace

extern "C" {

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  if (event == nullptr || (flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    *event = std::bit_cast<CUevent>(driver.events().create((flags & kNoTiming) == 0));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return with_context([&](Driver& driver, Context&) {
    const bool was = driver.events().destroy(std::bit_cast<Events::Handle>(event));
    return was ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuEventDestroy(CUevent event) {
  return cuEventDestroy_v2(event);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return in_stream(stream, [&] {
    return with_event(event, [](Events::Event& found) {
      found.at = os::PosixClock().now();
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuEventQuery(CUevent event) {
  return with_event(event, [](const Events::Event&) { return CUDA_SUCCESS; });
}

CUresult cuEventSynchronize(CUevent event) {
  return with_work_done([&](Driver& driver) {
    const bool known = driver.events().find(std::bit_cast<Events::Handle>(event)) != nullptr;
    if (known) driver.pools().synchronise();
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::optional<Instant> from;
  const CUresult begun = with_event(start, [&](const Events::Event& event) {
    from = event.timed ? event.at : std::nullopt;
    return CUDA_SUCCESS;
  });
  if (begun != CUDA_SUCCESS) return begun;
  return with_event(end, [&](const Events::Event& event) {
    if (!from || !event.timed || !event.at) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = static_cast<float>(event.at->ns - from->ns) / 1e6F;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
  return in_stream(stream, [&] { return cuEventQuery(event); });
}

CUresult cuStreamQuery(CUstream stream) {
  return with_context([&](Driver& driver, Context&) {
    return driver.streams().wait_for(Streams::key_of(stream, Streams::Default::kLegacy));
  });
}

}  // extern "C"
}  // namespace berth::simgpu
