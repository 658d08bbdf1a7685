// SPDX-License-Identifier: Apache-2.0
// Common parts of the hooks. Any thread; nothing here is called back by the driver.
#pragma once

#include <cstdint>

#include "abi/cuda.h"
#include "guard/preload/driver.h"
#include "guard/process.h"
#include "guard/waiting.h"

namespace berth::guard {

/// What a function of ours is: seen by programs, in front of the driver's.
#define OURS extern "C" [[gnu::visibility("default")]] CUresult

/// The device of the lease that a device of this process is; -1 if it is none.
int device_of(Process& process, CUdevice ordinal);

/// Where an allocation made now by this thread comes to lie. False: none of our business.
bool current_place(Process& process, Place& place);

/// What this process keeps of a device and does not need goes back to it.
void give_up_unused(Process& process, std::uint32_t device);

/// Whether a charge of so many bytes is made at last. try_charge() makes it if there is room, and
/// is called again when there may be: once what is not needed was given up, when the driver has
/// freed what the dead had, and then, where the lease says so, as long as the thread may wait.
/// False: the program must be refused.
template <class TryCharge>
[[nodiscard]] bool make_room(Process& process, std::uint32_t device, std::uint64_t bytes,
                             TryCharge try_charge) {
  if (try_charge()) return true;
  Waiting waiting(process.ledger(), {.device = device,
                                     .bytes = pages_of(bytes),
                                     .beside = process.charged_for_contexts(device),
                                     .duration = process.wait_on_full()});
  WaitForDead dead(process.ledger(), device);
  do {
    give_up_unused(process, device);
    if (try_charge()) return true;
  } while (dead.goes_on() || waiting.goes_on());
  process.ledger().count_refusal(device, bytes);
  return false;
}

/// Charges what an allocation may take. False: it must be refused.
[[nodiscard]] inline bool reserve(Process& process, std::uint32_t device, std::uint64_t bytes) {
  return make_room(process, device, bytes, [&] { return process.try_reserve(device, bytes); });
}

/// The memory that the driver keeps for the graphs of a device, which is like a pool's: told from
/// pools by its number, which is no address.
constexpr Pools::Handle graph_pool(CUdevice ordinal) {
  return static_cast<Pools::Handle>(ordinal) + 1;
}
/// Pools take the device in chunks of this size, as they have been seen to do.
constexpr std::uint64_t chunks_of(std::uint64_t bytes) {
  constexpr std::uint64_t kChunkBytes = std::uint64_t{32} << 20U;
  if (bytes > UINT64_MAX - kChunkBytes) return UINT64_MAX;
  return (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
}
/// Charges what a call may make a pool that is known reserve. False: it must not be made.
[[nodiscard]] bool begin_in_pool(Process& process, Pools::Handle pool, std::uint64_t bytes);
/// It was made: what stays charged is what the pool has reserved.
void end_in_pool(Process& process, Pools::Handle pool, std::uint64_t bytes);
/// Something was done that may have made the pool give memory back.
void settle_pool(Process& process, Pools::Handle pool);
/// The same of the pools that have yet to be looked at since a thread synchronised; so many at
/// most.
void settle_due(Process& process, int most);
/// What no graph uses at the moment goes back to the device, if that harms no launch under way, or
/// anyway, because the program asks for it. See Note [Launches and trims].
enum class Trim : std::uint8_t { kIfSafe, kAnyway };
CUresult trim_graphs(Process& process, CUdevice ordinal, Trim trim);

/// Which stream 0 is: that of all threads, or that of the calling one (the functions in _ptsz).
enum class Default : std::uint8_t { kLegacy, kOwn };
bool is_capturing(CUstream stream, Default meant);

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
