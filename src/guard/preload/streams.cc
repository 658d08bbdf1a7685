// SPDX-License-Identifier: Apache-2.0
// The hooks that tell what a thread is in the middle of, so that it is not made to wait there: a
// stream that it captures, a callback of the driver's. See Note [Who is made to wait].
#include <atomic>

#include "guard/preload/hooks.h"

namespace berth::guard {
namespace {

// A thread that begins a capture and lets another one end it is in a hurry from then on: it is
// refused at once, as without waiting.
CUresult begun(CUresult result) {
  if (result == CUDA_SUCCESS) ++hurry.captures;
  return result;
}

// It is over whatever the driver answers, unless the stream is captured as before.
template <class End>
CUresult end_capture(CUstream stream, Default meant, End end) {
  const bool was = hurry.captures > 0 && is_capturing(stream, meant);
  const CUresult result = end();
  if (was && !is_capturing(stream, meant)) --hurry.captures;
  return result;
}

// Note [Callbacks]
//
// Where a program may wait, what it gives to the driver to call is called by us instead, which
// marks the thread meanwhile. What is to be called lies in a place of its own until then. If there
// is none left, or the stream is captured, when the driver may call it any number of times, it is
// not marked: CUDA forbids such a function to call the driver, and a wait has an end.
struct Callback {
  CUhostFn function;             // One of these two.
  CUstreamCallback with_stream;  // The older form.
  void* data;
};
struct CallbackPlace {
  std::atomic<bool> taken;
  Callback callback;
};
constexpr std::size_t kCallbacksMax = 1024;
constinit CallbackPlace callbacks[kCallbacksMax] = {};
constinit std::atomic<std::size_t> next_callback = 0;

CallbackPlace* take_place() {
  for (std::size_t tries = 0; tries < kCallbacksMax; ++tries) {
    CallbackPlace& place = callbacks[next_callback.fetch_add(1) % kCallbacksMax];
    if (!place.taken.exchange(true)) return &place;
  }
  return nullptr;
}

// What lies there; the place is free again.
Callback taken_from(void* at) {
  auto* place = static_cast<CallbackPlace*>(at);
  const Callback callback = place->callback;
  place->taken.store(false);
  return callback;
}

void call_function(void* at) {
  const Callback callback = taken_from(at);
  ++hurry.callbacks;
  callback.function(callback.data);
  --hurry.callbacks;
}

void call_with_stream(CUstream stream, CUresult result, void* at) {
  const Callback callback = taken_from(at);
  ++hurry.callbacks;
  callback.with_stream(stream, result, callback.data);
  --hurry.callbacks;
}

// call(function, data): the driver's function, given these to call. `ours` calls what was given to
// us; where there is no need of that, the driver gets `theirs`.
template <class Function, class Call>
CUresult give(CUstream stream, Default meant, const Callback& callback, Function theirs,
              Function ours, Call call) {
  Process* process = Process::current();
  const bool may_wait = process != nullptr && process->wait_on_full() > 0;
  CallbackPlace* place =
      may_wait && theirs != nullptr && !is_capturing(stream, meant) ? take_place() : nullptr;
  if (place == nullptr) return call(theirs, callback.data);
  place->callback = callback;
  const CUresult result = call(ours, place);
  if (result != CUDA_SUCCESS) place->taken.store(false);
  return result;
}

template <class Call>
CUresult launch(CUstream stream, Default meant, CUhostFn function, void* data, Call call) {
  return give(stream, meant, {.function = function, .with_stream = nullptr, .data = data}, function,
              &call_function, call);
}

template <class Call>
CUresult add_callback(CUstream stream, Default meant, CUstreamCallback callback, void* data,
                      Call call) {
  return give(stream, meant, {.function = nullptr, .with_stream = callback, .data = data}, callback,
              &call_with_stream, call);
}

}  // namespace

OURS cuStreamBeginCapture(CUstream stream) {
  return begun(REAL(cuStreamBeginCapture, stream));
}
OURS cuStreamBeginCapture_ptsz(CUstream stream) {
  return begun(REAL(cuStreamBeginCapture_ptsz, stream));
}
OURS cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begun(REAL(cuStreamBeginCapture_v2, stream, mode));
}
OURS cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return begun(REAL(cuStreamBeginCapture_v2_ptsz, stream, mode));
}
OURS cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                 const CUgraphEdgeData* edges, std::size_t count,
                                 CUstreamCaptureMode mode) {
  return begun(REAL(cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode));
}
OURS cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                      const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                      std::size_t count, CUstreamCaptureMode mode) {
  return begun(
      REAL(cuStreamBeginCaptureToGraph_ptsz, stream, graph, dependencies, edges, count, mode));
}

OURS cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return end_capture(stream, Default::kLegacy,
                     [&] { return REAL(cuStreamEndCapture, stream, graph); });
}
OURS cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return end_capture(stream, Default::kOwn,
                     [&] { return REAL(cuStreamEndCapture_ptsz, stream, graph); });
}

OURS cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return launch(stream, Default::kLegacy, function, data, [&](CUhostFn called, void* with) {
    return REAL(cuLaunchHostFunc, stream, called, with);
  });
}
OURS cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
  return launch(stream, Default::kOwn, function, data, [&](CUhostFn called, void* with) {
    return REAL(cuLaunchHostFunc_ptsz, stream, called, with);
  });
}

OURS cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                         unsigned int flags) {
  return add_callback(stream, Default::kLegacy, callback, data,
                      [&](CUstreamCallback called, void* with) {
                        return REAL(cuStreamAddCallback, stream, called, with, flags);
                      });
}
OURS cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                              unsigned int flags) {
  return add_callback(stream, Default::kOwn, callback, data,
                      [&](CUstreamCallback called, void* with) {
                        return REAL(cuStreamAddCallback_ptsz, stream, called, with, flags);
                      });
}

}  // namespace berth::guard
