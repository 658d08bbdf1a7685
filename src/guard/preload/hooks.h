// SPDX-License-Identifier: Apache-2.0
// What the hooks have in common. Any thread; nothing here is called back by the driver.
#pragma once

#include <cstdint>

#include "guard/preload/cuda.h"
#include "guard/preload/driver.h"
#include "guard/process.h"

namespace berth::guard {

/// What a function of ours is: seen by programs, in front of the driver's.
#define OURS extern "C" [[gnu::visibility("default")]] CUresult

/// The device of the lease that a device of this process is; -1 if it is none.
int device_of(Process& process, CUdevice ordinal);

/// Where an allocation made now by this thread comes to lie. False: none of our business.
bool current_place(Process& process, Place& place);

/// Charges what an allocation may take; what pools keep for later is given up for it where it must
/// be. False: the allocation must be refused.
[[nodiscard]] bool reserve(Process& process, std::uint32_t device, std::uint64_t bytes);

/// Makes what takes so many bytes, if the budget has room for them. `key`: asked, once it is made,
/// what it will be freed by.
template <class Make, class Key>
CUresult make_charged(Process& process, const Place& place, Kind kind, std::uint64_t bytes,
                      Make make, Key key) {
  if (!reserve(process, place.device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = make();
  if (result == CUDA_SUCCESS) {
    process.made(place, kind, key(), bytes);
  } else {
    process.cancel(place.device, bytes);
  }
  return result;
}

/// What the driver answered when it was asked to free this. `unknown`: its word for what it does
/// not have, which is not there any more either.
inline void settle_free(Process& process, const Entry& entry, CUresult result, CUresult unknown) {
  if (result == CUDA_SUCCESS || result == unknown) {
    process.freed(entry);
  } else {
    process.not_freed(entry);
  }
}

inline std::uint64_t handle_of(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

}  // namespace berth::guard
