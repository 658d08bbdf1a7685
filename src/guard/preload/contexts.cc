// SPDX-License-Identifier: Apache-2.0
// The hooks of contexts. The first context of a process on a device costs memory, and is where a
// program is refused that would not have room for it; all that was allocated in one goes with it.
#include "guard/preload/hooks.h"

namespace berth::guard {
namespace {

// What the first one costs: the simulated driver knows it, of a real one it is an estimate.
std::uint64_t context_cost(Process& process, std::uint32_t device) {
  std::size_t exact = 0;
  if (REAL(berthSimulatedContextBytes, &exact) == CUDA_SUCCESS) return exact;
  return process.ledger().context_cost(device);
}

// While its lease is suspended a process makes no first context: the whole lease waits, and what it
// comes back to must be free. One that has a context was stopped by the driver, or runs on where
// the driver did not know it. Nobody is woken when the lease is back, so it is looked for again and
// again.
void wait_while_away(Process& process) {
  constexpr std::uint64_t kLookEvery = 20'000'000;
  Ledger& ledger = process.ledger();
  if (!ledger.is_away() || hurry.callbacks > 0) return;
  for (std::uint32_t device = 0; device < ledger.device_count(); ++device) {
    if (ledger.has_context(device)) return;
  }
  while (ledger.is_away()) {
    const std::uint32_t before = ledger.before_try();
    if (ledger.is_away()) ledger.wait(before, kLookEvery);
  }
}

// create(): the driver's call.
template <class Create>
CUresult create_context(CUcontext* context, CUdevice ordinal, Create create) {
  Process* process = Process::current();
  const int found = process == nullptr ? -1 : device_of(*process, ordinal);
  if (found < 0) return create();
  const auto device = static_cast<std::uint32_t>(found);
  wait_while_away(*process);
  const std::uint64_t cost = context_cost(*process, device);
  if (!make_room(*process, device, cost, [&] { return process->enter(device, cost); }))
    return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = create();
  if (result == CUDA_SUCCESS) {
    process->context_made({.device = device, .context = handle_of(*context)});
  } else {
    process->leave(device);
  }
  return result;
}

template <class Destroy>
CUresult destroy_context(CUcontext context, Destroy destroy) {
  Process* process = Process::current();
  const int device = process == nullptr ? -1 : process->device_of_context(handle_of(context));
  const CUresult result = destroy();
  if (device < 0 || result != CUDA_SUCCESS) return result;
  process->context_gone(handle_of(context));
  process->leave(static_cast<std::uint32_t>(device));
  return result;
}

void look_at_primary(Process& process, CUdevice ordinal, std::uint32_t device) {
  const std::uint32_t epoch = process.primary_epoch(device);
  unsigned int flags = 0;
  int active = 1;
  if (REAL(cuDevicePrimaryCtxGetState, ordinal, &flags, &active) == CUDA_SUCCESS && active == 0)
    process.primary_inactive(device, epoch);
}

// context(): its handle, once retain(), the driver's call, has made it or made it live on.
template <class Retain, class Handle>
CUresult retain_primary(CUdevice ordinal, Retain retain, Handle context) {
  Process* process = Process::current();
  const int found = process == nullptr ? -1 : device_of(*process, ordinal);
  if (found < 0) return retain();
  const auto device = static_cast<std::uint32_t>(found);
  wait_while_away(*process);
  const std::uint64_t cost = context_cost(*process, device);
  if (!make_room(*process, device, cost, [&] { return process->enter_primary(device, cost); }))
    return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = retain();
  process->primary_retained(device, result == CUDA_SUCCESS ? handle_of(context()) : 0);
  if (result != CUDA_SUCCESS) look_at_primary(*process, ordinal, device);
  return result;
}

template <class End>
CUresult end_primary(CUdevice ordinal, End end) {
  const CUresult result = end();
  Process* process = Process::current();
  const int device = process == nullptr ? -1 : device_of(*process, ordinal);
  if (device >= 0 && result == CUDA_SUCCESS)
    look_at_primary(*process, ordinal, static_cast<std::uint32_t>(device));
  return result;
}

}  // namespace

OURS cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
  return create_context(context, device, [&] { return REAL(cuCtxCreate, context, flags, device); });
}
OURS cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return create_context(context, device,
                        [&] { return REAL(cuCtxCreate_v2, context, flags, device); });
}
OURS cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinities, int count,
                    unsigned int flags, CUdevice device) {
  return create_context(context, device, [&] {
    return REAL(cuCtxCreate_v3, context, affinities, count, flags, device);
  });
}
OURS cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags,
                    CUdevice device) {
  return create_context(context, device,
                        [&] { return REAL(cuCtxCreate_v4, context, parameters, flags, device); });
}

OURS cuCtxDestroy(CUcontext context) {
  return destroy_context(context, [&] { return REAL(cuCtxDestroy, context); });
}
OURS cuCtxDestroy_v2(CUcontext context) {
  return destroy_context(context, [&] { return REAL(cuCtxDestroy_v2, context); });
}

OURS cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice ordinal) {
  const auto real = [&] { return REAL(cuDevicePrimaryCtxRetain, context, ordinal); };
  return retain_primary(ordinal, real, [&] { return *context; });
}

OURS cuDevicePrimaryCtxRelease(CUdevice device) {
  return end_primary(device, [&] { return REAL(cuDevicePrimaryCtxRelease, device); });
}
OURS cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return end_primary(device, [&] { return REAL(cuDevicePrimaryCtxRelease_v2, device); });
}
OURS cuDevicePrimaryCtxReset(CUdevice device) {
  return end_primary(device, [&] { return REAL(cuDevicePrimaryCtxReset, device); });
}
OURS cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return end_primary(device, [&] { return REAL(cuDevicePrimaryCtxReset_v2, device); });
}

// Green contexts, which retain the primary one and share its memory.

namespace {

// The primary context of a device; null if it cannot be had.
CUcontext primary_of(CUdevice ordinal) {
  CUcontext primary = nullptr;
  if (REAL(cuDevicePrimaryCtxRetain, &primary, ordinal) != CUDA_SUCCESS) return nullptr;
  (void)REAL(cuDevicePrimaryCtxRelease_v2, ordinal);
  return primary;
}

}  // namespace

OURS cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc what, CUdevice ordinal,
                      unsigned int flags) {
  CUcontext primary = nullptr;
  const CUresult result = retain_primary(
      ordinal, [&] { return REAL(cuGreenCtxCreate, green, what, ordinal, flags); },
      [&] { return primary = primary_of(ordinal); });
  Process* process = Process::current();
  Place place;
  if (process != nullptr && primary != nullptr &&
      process->place_of_context(handle_of(primary), place)) {
    process->view_made(handle_of(*green), place);
  }
  return result;
}

OURS cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  const CUresult result = REAL(cuCtxFromGreenCtx, context, green);
  Process* process = Process::current();
  Place place;
  if (result == CUDA_SUCCESS && process != nullptr &&
      process->place_of_context(handle_of(green), place)) {
    process->view_made(handle_of(*context), place);
  }
  return result;
}

OURS cuGreenCtxDestroy(CUgreenCtx green) {
  Process* process = Process::current();
  Place place;
  const bool known = process != nullptr && process->place_of_context(handle_of(green), place);
  const CUresult result = REAL(cuGreenCtxDestroy, green);
  if (!known || result != CUDA_SUCCESS) return result;
  process->view_gone(handle_of(green));
  for (CUdevice ordinal = 0; ordinal < static_cast<CUdevice>(kDevicesMax); ++ordinal) {
    if (device_of(*process, ordinal) == static_cast<int>(place.device))
      look_at_primary(*process, ordinal, place.device);
  }
  return result;
}

}  // namespace berth::guard
