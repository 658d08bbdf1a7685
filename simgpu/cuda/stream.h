// SPDX-License-Identifier: Apache-2.0
// The streams of a process and what is captured in them. All streams are as one whose work is done
// at once; while one is captured, what is put into it becomes a graph instead. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <thread>

#include "simgpu/cuda/abi.h"

namespace berth::simgpu {

class Streams {
 public:
  /// A stream as a key. A default one has one for all threads, or one for each.
  using Key = std::uint64_t;
  enum class Default : std::uint8_t { kLegacy, kOwn };
  static Key key_of(CUstream stream, Default meant);

  /// `context`: whose it is.
  CUstream create(unsigned int flags, CUcontext context);
  bool destroy(CUstream stream);
  /// Of one that was made; of a default one, which each context has, none.
  CUcontext context_of(Key stream) const;

  CUresult begin(Key stream, CUstreamCaptureMode mode, std::uint64_t graph);
  /// `graph`: what was captured; if that cannot be had, what is left of it, or 0.
  CUresult end(Key stream, std::uint64_t& graph);
  CUresult ask(Key stream, CUstreamCaptureStatus& status) const;

  /// Something is about to be put into a stream: into this graph, or 0 if it is to be done.
  CUresult enter(Key stream, std::uint64_t& graph);
  /// Something is about to be done that no captured stream can do.
  CUresult wait_for(Key stream);
  /// What cannot be captured ends the capture.
  void spoil(Key stream);

  /// A call that may disturb what any stream captures. Those that forbid it are spoilt.
  CUresult check_safe();
  /// The calling thread's part in that.
  static CUstreamCaptureMode& mode_of_thread();

  bool exists(Key stream) const;

 private:
  struct Capture {
    std::uint64_t graph;
    CUstreamCaptureMode mode;
    std::thread::id thread;
    bool spoilt;
  };
  bool is_implied(Key stream) const;

  struct Created {
    bool waits_for_legacy;  // And that for it.
    CUcontext context;
  };
  std::map<Key, Created> created_;
  std::map<Key, Capture> captures_;
  Key last_ = 0x1000;
};

}  // namespace berth::simgpu
