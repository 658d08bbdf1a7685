// SPDX-License-Identifier: Apache-2.0
// The one way in which libtorch's headers come into a file of ours, and the place for what differs
// between its versions. Built with 1.13.1 and 2.6.0. Some builds of it bring glog's macros, whose
// CHECK is taken away again: ours stays.
#pragma once

#include "base/check.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/version.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace berth::trainer {

/// What an allocator of ours derives from. To allocate is const in libtorch 1 alone, and libtorch 2
/// asks how it copies.
class Allocator : public at::Allocator {
 public:
#if TORCH_VERSION_MAJOR < 2
  at::DataPtr allocate(std::size_t bytes) const final { return take(bytes); }
#else
  at::DataPtr allocate(std::size_t bytes) final { return take(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const final {
    default_copy_data(to, from, bytes);
  }
#endif

 protected:
  virtual at::DataPtr take(std::size_t bytes) const = 0;
};

/// Whether this thread computes on such a device in a shorter type what bears it, and in which one.
inline bool autocasts(at::DeviceType device) {
#if TORCH_VERSION_MAJOR < 2
  return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
#else
  return at::autocast::is_autocast_enabled(device);
#endif
}
inline void set_autocast(at::DeviceType device, bool on) {
#if TORCH_VERSION_MAJOR < 2
  device == at::kCPU ? at::autocast::set_cpu_enabled(on) : at::autocast::set_enabled(on);
#else
  at::autocast::set_autocast_enabled(device, on);
#endif
}
inline void set_autocast_type(at::DeviceType device, at::ScalarType type) {
#if TORCH_VERSION_MAJOR < 2
  device == at::kCPU ? at::autocast::set_autocast_cpu_dtype(type)
                     : at::autocast::set_autocast_gpu_dtype(type);
#else
  at::autocast::set_autocast_dtype(device, type);
#endif
}

}  // namespace berth::trainer
