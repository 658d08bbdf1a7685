// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/stream.h"

#include <algorithm>
#include <bit>

namespace berth::simgpu {
namespace {

constexpr Streams::Key kLegacyStream = 1;  // CU_STREAM_LEGACY
constexpr Streams::Key kOwnStream = 2;     // CU_STREAM_PER_THREAD
constexpr unsigned int kNonBlocking = 1;   // CU_STREAM_NON_BLOCKING

// The calling thread's default stream: an address of its own.
Streams::Key own_stream() {
  thread_local char place = 0;
  return reinterpret_cast<Streams::Key>(&place);
}

}  // namespace

Streams::Key Streams::key_of(CUstream stream, Default meant) {
  auto key = std::bit_cast<Key>(stream);
  if (key == 0) key = meant == Default::kLegacy ? kLegacyStream : kOwnStream;
  return key == kOwnStream ? own_stream() : key;
}

CUstream Streams::create(unsigned int flags, CUcontext context) {
  last_ += 16;
  created_.emplace(last_,
                   Created{.waits_for_legacy = (flags & kNonBlocking) == 0, .context = context});
  return std::bit_cast<CUstream>(last_);
}

bool Streams::destroy(CUstream stream) {
  captures_.erase(std::bit_cast<Key>(stream));
  return created_.erase(std::bit_cast<Key>(stream)) == 1;
}

CUcontext Streams::context_of(Key stream) const {
  const auto found = created_.find(stream);
  return found == created_.end() ? nullptr : found->second.context;
}

bool Streams::exists(Key stream) const {
  return stream == kLegacyStream || stream == own_stream() || created_.contains(stream);
}

CUresult Streams::begin(Key stream, CUstreamCaptureMode mode, std::uint64_t graph) {
  if (!exists(stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream == kLegacyStream) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const Capture capture{
      .graph = graph, .mode = mode, .thread = std::this_thread::get_id(), .spoilt = false};
  return captures_.emplace(stream, capture).second ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult Streams::end(Key stream, std::uint64_t& graph) {
  graph = 0;
  const auto found = captures_.find(stream);
  if (found == captures_.end())
    return exists(stream) ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
  const Capture& capture = found->second;
  if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture.thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  graph = capture.graph;
  const bool spoilt = capture.spoilt;
  captures_.erase(found);
  return spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

// The legacy stream waits for all that are not created without it.
bool Streams::is_implied(Key stream) const {
  return stream == kLegacyStream && std::ranges::any_of(captures_, [this](const auto& capture) {
           const auto found = created_.find(capture.first);
           return found == created_.end() || found->second.waits_for_legacy;
         });
}

CUresult Streams::ask(Key stream, CUstreamCaptureStatus& status) const {
  if (!exists(stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (is_implied(stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const auto found = captures_.find(stream);
  status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (found == captures_.end()) return CUDA_SUCCESS;
  status =
      found->second.spoilt ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult Streams::enter(Key stream, std::uint64_t& graph) {
  graph = 0;
  if (!exists(stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (is_implied(stream)) {
    for (auto& [key, capture] : captures_) capture.spoilt = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  const auto found = captures_.find(stream);
  if (found == captures_.end()) return CUDA_SUCCESS;
  graph = found->second.graph;
  return found->second.spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult Streams::wait_for(Key stream) {
  std::uint64_t graph = 0;
  const CUresult result = enter(stream, graph);
  if (graph == 0) return result;
  spoil(stream);
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void Streams::spoil(Key stream) {
  if (const auto found = captures_.find(stream); found != captures_.end())
    found->second.spoilt = true;
}

CUresult Streams::check_safe() {
  const CUstreamCaptureMode mode = mode_of_thread();
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  bool forbidden = false;
  for (auto& [key, capture] : captures_) {
    const bool ours = capture.thread == std::this_thread::get_id() &&
                      capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool of_all =
        mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!ours && !of_all) continue;
    capture.spoilt = true;
    forbidden = true;
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUstreamCaptureMode& Streams::mode_of_thread() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

}  // namespace berth::simgpu
