// SPDX-License-Identifier: Apache-2.0
// The simulated driver's contexts. A process pays the world's context overhead once on each device
// where it has one or more. Any thread may call these; each thread has its own stack of contexts.
#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"
#include "simgpu/world/gauges.h"

namespace berth::simgpu {
namespace {

CUresult create(CUcontext* context, unsigned int flags, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    ContextStack& stack = context_stack();
    if (stack.depth == ContextStack::kDepthMax) return CUDA_ERROR_INVALID_VALUE;
    Context* made = nullptr;
    const CUresult result = driver.create_context(device, flags, made);
    if (result != CUDA_SUCCESS) return result;
    *context = handle_of(made);
    stack.contexts[stack.depth++] = *context;
    return CUDA_SUCCESS;
  });
}

// Of no context means: of the calling thread's.
CUresult this_or_current(Driver& driver, CUcontext handle, Context*& context) {
  if (handle == nullptr) return driver.current(context);
  context = driver.living(handle);
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* /*affinities*/, int /*count*/,
                        unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* /*parameters*/, unsigned int flags,
                        CUdevice device) {
  return create(context, flags, device);
}

CUresult berthSimulatedContextBytes(std::size_t* bytes) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const Result<WorldSpec> spec = parse_spec(driver.process_slot().world().place().spec_text);
    if (!spec.ok() || !spec->context_known) return CUDA_ERROR_NOT_SUPPORTED;
    *bytes = driver.process_slot().world().file().context_blocks * kBlockBytes;
    return CUDA_SUCCESS;
  });
}

CUresult berthSimulatedUsedBytes(std::size_t* bytes, CUdevice ordinal) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const std::optional<std::uint32_t> device = driver.device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = driver.used(*device);
    return CUDA_SUCCESS;
  });
}

CUresult berthSimulatedLoad(unsigned int percent, CUdevice ordinal) {
  if (percent > 100) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const std::optional<std::uint32_t> device = driver.device(ordinal);
    if (!device) return CUDA_ERROR_INVALID_DEVICE;
    ProcessSlot& process = driver.process_slot();
    set_load(process.world(), process.slot_number(), process.place(*device), percent);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  return with_driver([&](Driver& driver) {
    Context* living = driver.living(context);
    if (living == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const CUresult result = driver.destroy_context(living);
    ContextStack& stack = context_stack();
    if (result == CUDA_SUCCESS && stack.top() == context) --stack.depth;
    return result;
  });
}
CUresult cuCtxDestroy(CUcontext context) {
  return cuCtxDestroy_v2(context);
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return with_driver([&](Driver& driver) {
    ContextStack& stack = context_stack();
    if (context == nullptr) {
      if (stack.depth > 0) --stack.depth;
      return CUDA_SUCCESS;
    }
    if (driver.living(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.depth == 0) stack.depth = 1;
    stack.contexts[stack.depth - 1] = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver&) {
    *context = context_stack().top();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return with_driver([&](Driver& driver) {
    if (driver.living(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    ContextStack& stack = context_stack();
    if (stack.depth == ContextStack::kDepthMax) return CUDA_ERROR_INVALID_VALUE;
    stack.contexts[stack.depth++] = context;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxPushCurrent(CUcontext context) {
  return cuCtxPushCurrent_v2(context);
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return with_driver([&](Driver&) {
    ContextStack& stack = context_stack();
    if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = stack.top();
    --stack.depth;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  return cuCtxPopCurrent_v2(context);
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
  return with_work_done([&](Driver& driver) {
    Context* found = nullptr;
    CUresult result = this_or_current(driver, context, found);
    if (result == CUDA_SUCCESS) result = driver.streams().check_safe();
    if (result == CUDA_SUCCESS) driver.pools().synchronise();
    return result;
  });
}
CUresult cuCtxSynchronize() {
  return cuCtxSynchronize_v2(nullptr);
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    Context* found = nullptr;
    const CUresult result = this_or_current(driver, context, found);
    if (result == CUDA_SUCCESS) *device = found->ordinal;
    return result;
  });
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return cuCtxGetDevice_v2(device, nullptr);
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    Context* context = nullptr;
    const CUresult result = driver.current(context);
    if (result == CUDA_SUCCESS) *flags = context->flags;
    return result;
  });
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    const CUcontext asked = context == nullptr ? context_stack().top() : context;
    if (driver.living(asked) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    Context* retained = nullptr;
    const CUresult result = driver.retain_primary(device, retained);
    if (result == CUDA_SUCCESS) *context = handle_of(retained);
    return result;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return with_driver([&](Driver& driver) { return driver.release_primary(device); });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return with_driver([&](Driver& driver) { return driver.reset_primary(device); });
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  return with_driver([&](Driver& driver) { return driver.set_primary_flags(device, flags); });
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](Driver& driver) {
    if (!driver.device(device)) return CUDA_ERROR_INVALID_DEVICE;
    const Driver::PrimaryState state = driver.primary_state(device);
    *flags = state.flags;
    *active = state.active ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace berth::simgpu
