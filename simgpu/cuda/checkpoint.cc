// SPDX-License-Identifier: Apache-2.0
// The simulated driver's checkpoint calls, as a process that suspends another one makes them. Any
// thread of any process of the world may; calls on one process take turns. They wait for the
// process that they are made on, and for nothing else of this one.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "simgpu/cuda/abi.h"
#include "simgpu/cuda/driver.h"
#include "simgpu/world/futex.h"
#include "simgpu/world/immortal.h"

// Note [Checkpoint calls between processes]
//
// A call is a line in the slot of the process that it is made on: the caller writes what it wants
// and counts `asked` up, the process's own thread does it and sets `answered` to the same.
//
//   the caller is killed      its turn ends with it (a lock of the kernel's); what it asked for is
//                             done all the same, and the next caller waits for that first
//   the process is killed     the caller, who looks every 50 ms whether it is alive, gets
//                             CUDA_ERROR_INVALID_VALUE; the slot is torn down like any other
//   the process is stopped    it is not served, and the caller waits
//   it replaces its program   its lock is gone with it: it counts as dead

namespace berth::simgpu {
namespace {

constexpr std::int64_t kLookNs = 50'000'000;

// The simulated machine as a caller sees it, which may have no driver of its own.
struct CallersWorld {
  std::mutex mutex;
  std::optional<World> world;
};

World* callers_world() {
  static Immortal<CallersWorld> callers;
  CallersWorld& mine = callers.value;
  const std::lock_guard lock(mine.mutex);
  if (!mine.world) {
    Result<World> world = World::open_from_environment();
    if (!world.ok()) return nullptr;
    mine.world.emplace(*std::move(world));
  }
  return &*mine.world;
}

struct Victim {
  World& world;
  std::uint32_t slot;
  Identity owner;
  CheckpointState& state;

  /// Its thread is there to answer.
  bool serves() const {
    if (world.file().slots[slot].owner.load() != owner || state.owner.load() != owner) return false;
    return world.lives(slot);
  }

  /// Until all that was asked for is done; false if nobody is there any more who would do it.
  bool wait() const {
    for (;;) {
      const std::uint32_t answered = state.answered.load();
      const bool done = answered == state.asked.load();
      if (done || !serves()) return done && serves();
      futex_wait(state.answered, answered, kLookNs);
    }
  }
};

// body(victim); or the result that tells why there is none.
template <class Body>
CUresult with_victim(int pid, Body body) {
  World* world = callers_world();
  if (world == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  const std::optional<std::uint32_t> slot = world->slot_of(pid);
  if (!slot) return CUDA_ERROR_INVALID_VALUE;
  SlotState& found = world->file().slots[*slot];
  const Victim victim{.world = *world,
                      .slot = *slot,
                      .owner = found.checkpoint.owner.load(),
                      .state = found.checkpoint};
  return victim.serves() ? body(victim) : CUDA_ERROR_INVALID_VALUE;
}

// The turn of calls on one process, until the descriptor is closed.
os::UniqueFd take_turn(const Victim& victim) {
  const std::string path = victim.world.path() + ".checkpoint";
  const mode_t mode = victim.world.place().shared ? 0666 : 0600;
  os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
  if (!file) return file;
  // Fails for all but its owner.
  if (victim.world.place().shared) (void)::fchmod(file.get(), mode);
  struct flock part{};
  part.l_type = F_WRLCK;
  part.l_whence = SEEK_SET;
  part.l_start = victim.slot;
  part.l_len = 1;
  while (::fcntl(file.get(), F_OFD_SETLKW, &part) != 0) {
    if (errno != EINTR) return {};
  }
  return file;
}

struct Request {
  CheckpointCall call;
  std::uint32_t timeout_ms = 0;
  std::array<std::uint32_t, kDevicesMax> moves{};
};

CUresult ask(int pid, const Request& request) {
  return with_victim(pid, [&](const Victim& victim) {
    const os::UniqueFd turn = take_turn(victim);
    if (!turn) return CUDA_ERROR_OPERATING_SYSTEM;
    if (!victim.wait()) return CUDA_ERROR_INVALID_VALUE;
    CheckpointState& state = victim.state;
    state.target.store(victim.owner);
    state.call.store(request.call);
    state.timeout_ms.store(request.timeout_ms);
    for (std::size_t i = 0; i < kDevicesMax; ++i) state.moves[i].store(request.moves[i]);
    state.asked.fetch_add(1);
    futex_wake(state.asked);
    if (!victim.wait()) return CUDA_ERROR_INVALID_VALUE;
    return static_cast<CUresult>(state.result.load());
  });
}

bool is_zero(const void* at, std::size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(at);
  return std::all_of(first, first + bytes, [](unsigned char byte) { return byte == 0; });
}

// Arguments are optional, and those that mean nothing yet are 0.
template <class Arguments>
bool is_unused(const Arguments* arguments) {
  return arguments == nullptr || is_zero(arguments, sizeof *arguments);
}

std::optional<std::uint32_t> device_of(const World& world, const CUuuid& uuid) {
  for (std::uint32_t device = 0; device < world.device_count(); ++device) {
    if (std::memcmp(world.file().devices[device].uuid.data(), uuid.bytes, sizeof uuid.bytes) == 0)
      return device;
  }
  return std::nullopt;
}

constexpr int kMovesSince = 13000;

// False: these are no arguments of this driver's.
bool read_moves(const CUcheckpointRestoreArgs* arguments, Request& request) {
  if (is_unused(arguments)) return true;
  if (kDriverVersion < kMovesSince || !is_zero(arguments->reserved, sizeof arguments->reserved) ||
      arguments->reserved1 != 0) {
    return false;
  }
  if (arguments->gpuPairs == nullptr) return arguments->gpuPairsCount == 0;
  const World* world = callers_world();
  if (world == nullptr) return false;
  for (unsigned int i = 0; i < arguments->gpuPairsCount; ++i) {
    const std::optional<std::uint32_t> from = device_of(*world, arguments->gpuPairs[i].oldUuid);
    const std::optional<std::uint32_t> to = device_of(*world, arguments->gpuPairs[i].newUuid);
    if (!from || !to || request.moves[*from] != 0) return false;
    request.moves[*from] = *to + 1;
  }
  return true;
}

}  // namespace

extern "C" {

CUresult cuCheckpointProcessGetState(int pid, CUprocessState* state) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_victim(pid, [&](const Victim& victim) {
    *state = static_cast<CUprocessState>(victim.state.state.load());
    return CUDA_SUCCESS;
  });
}

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
  if (thread == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_victim(pid, [&](const Victim& victim) {
    *thread = static_cast<int>(victim.state.thread.load());
    return CUDA_SUCCESS;
  });
}

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs* arguments) {
  Request request{.call = CheckpointCall::kLock};
  if (arguments != nullptr) {
    request.timeout_ms = arguments->timeoutMs;
    if (arguments->reserved0 != 0 || !is_zero(arguments->reserved1, sizeof arguments->reserved1))
      return CUDA_ERROR_INVALID_VALUE;
  }
  return ask(pid, request);
}

CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs* arguments) {
  if (!is_unused(arguments)) return CUDA_ERROR_INVALID_VALUE;
  return ask(pid, {.call = CheckpointCall::kCheckpoint});
}

// The caller's own driver keeps the devices awake meanwhile.
CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs* arguments) {
  Request request{.call = CheckpointCall::kRestore};
  if (!Driver::is_initialised()) return CUDA_ERROR_NOT_INITIALIZED;
  if (!read_moves(arguments, request)) return CUDA_ERROR_INVALID_VALUE;
  return ask(pid, request);
}

CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs* arguments) {
  if (!is_unused(arguments)) return CUDA_ERROR_INVALID_VALUE;
  return ask(pid, {.call = CheckpointCall::kUnlock});
}

}  // extern "C"
}  // namespace berth::simgpu
