// SPDX-License-Identifier: Apache-2.0
// The simulated driver's functions for streams and for capturing what is put into them. Any thread
// with a current context may call these.
#include <bit>
#include <utility>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"

namespace berth::simgpu {
namespace {

CUresult begin(CUstream stream, Streams::Default meant, CUstreamCaptureMode mode) {
  return with_context([&](Driver& driver, Context&) {
    const Graphs::Handle graph = driver.graphs().create();
    const CUresult result = driver.streams().begin(Streams::key_of(stream, meant), mode, graph);
    if (result != CUDA_SUCCESS) (void)driver.graphs().destroy(graph);
    return result;
  });
}

CUresult end(CUstream stream, Streams::Default meant, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    Graphs::Handle captured = 0;
    const CUresult result = driver.streams().end(Streams::key_of(stream, meant), captured);
    if (result != CUDA_SUCCESS) (void)driver.graphs().destroy(std::exchange(captured, 0));
    *graph = std::bit_cast<CUgraph>(captured);
    return result;
  });
}

CUresult is_capturing(CUstream stream, Streams::Default meant, CUstreamCaptureStatus* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context&) {
    return driver.streams().ask(Streams::key_of(stream, meant), *status);
  });
}

CUresult synchronise(CUstream stream, Streams::Default meant) {
  return with_work_done([&](Driver& driver) {
    Context* context = nullptr;
    CUresult result = driver.current(context);
    if (result == CUDA_SUCCESS) result = driver.streams().wait_for(Streams::key_of(stream, meant));
    if (result == CUDA_SUCCESS) driver.pools().synchronise();
    return result;
  });
}

// Whether a function of the program's may be called in the stream: at once, as all work is done
// here, but on the calling thread, and without the driver's lock. Graphs hold no functions here.
CUresult enter_with_function(CUstream stream, Streams::Default meant) {
  return with_context([&](Driver& driver, Context&) {
    return driver.streams().wait_for(Streams::key_of(stream, meant));
  });
}

CUresult launch(CUstream stream, Streams::Default meant, CUhostFn function, void* data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = enter_with_function(stream, meant);
  if (result == CUDA_SUCCESS) function(data);
  return result;
}

CUresult add_callback(CUstream stream, Streams::Default meant, CUstreamCallback callback,
                      void* data, unsigned int flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = enter_with_function(stream, meant);
  if (result == CUDA_SUCCESS) callback(stream, result, data);
  return result;
}

// A default stream is the current context's.
CUresult get_context(CUstream stream, Streams::Default meant, CUcontext* found) {
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context& context) {
    const Streams::Key key = Streams::key_of(stream, meant);
    if (!driver.streams().exists(key)) return CUDA_ERROR_INVALID_HANDLE;
    const CUcontext its = driver.streams().context_of(key);
    *found = its == nullptr ? handle_of(&context) : its;
    return CUDA_SUCCESS;
  });
}

constexpr auto kLegacy = Streams::Default::kLegacy;
constexpr auto kOwn = Streams::Default::kOwn;

}  // namespace

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  if (stream == nullptr || flags > 1) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Driver& driver, Context& context) {
    *stream = driver.streams().create(flags, handle_of(&context));
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int /*priority*/) {
  return cuStreamCreate(stream, flags);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  return with_context([&](Driver& driver, Context&) {
    return driver.streams().destroy(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuStreamDestroy(CUstream stream) {
  return cuStreamDestroy_v2(stream);
}

CUresult cuStreamSynchronize(CUstream stream) {
  return synchronise(stream, kLegacy);
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) {
  return synchronise(stream, kOwn);
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin(stream, kLegacy, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  return begin(stream, kOwn, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, kLegacy, mode);
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, kOwn, mode);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return end(stream, kLegacy, graph);
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return end(stream, kOwn, graph);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return get_context(stream, kLegacy, context);
}
CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
  return get_context(stream, kOwn, context);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return is_capturing(stream, kLegacy, status);
}
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
  return is_capturing(stream, kOwn, status);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return launch(stream, kLegacy, function, data);
}
CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
  return launch(stream, kOwn, function, data);
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                             unsigned int flags) {
  return add_callback(stream, kLegacy, callback, data, flags);
}
CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                                  unsigned int flags) {
  return add_callback(stream, kOwn, callback, data, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver&) {
    *mode = std::exchange(Streams::mode_of_thread(), *mode);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace berth::simgpu
