// SPDX-License-Identifier: Apache-2.0
// The one way in which libtorch's headers come into a file of ours, and the place for what differs
// between its versions. Built with 1.13.1. Some builds of it bring glog's macros, whose CHECK is
// taken away again: ours stays.
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
#undef CHECK
#pragma pop_macro("CHECK")

namespace berth::trainer {

// Whether products of matrices on such a device are computed in fewer bits, and in which.
inline bool autocasts(at::DeviceType device) {
  return device == at::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
}
inline void set_autocast(at::DeviceType device, bool on) {
  device == at::kCPU ? at::autocast::set_cpu_enabled(on) : at::autocast::set_enabled(on);
}
inline void set_autocast_type(at::DeviceType device, at::ScalarType type) {
  device == at::kCPU ? at::autocast::set_autocast_cpu_dtype(type)
                     : at::autocast::set_autocast_gpu_dtype(type);
}

}  // namespace berth::trainer
