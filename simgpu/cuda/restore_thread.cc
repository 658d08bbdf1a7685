// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/restore_thread.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "base/check.h"
#include "simgpu/world/fault.h"
#include "simgpu/world/futex.h"

namespace berth::simgpu {
namespace {

constexpr std::int64_t kLongNs = 3'600'000'000'000;

class Server {
 public:
  Server(Driver& driver, Barrier& barrier)
      : driver_(driver), barrier_(barrier), state_(driver.process_slot().slot().checkpoint) {}

  [[noreturn]] void serve();

 private:
  CUresult perform(CheckpointCall call);
  CUresult lock();
  CUresult checkpoint();
  CUresult restore();
  CUresult unlock();
  bool is(CUprocessState state) const { return state_.state.load() == state; }

  Driver& driver_;
  Barrier& barrier_;
  CheckpointState& state_;
};

void Server::serve() {
  const Identity self = driver_.process_slot().slot().owner.load();
  state_.state.store(CU_PROCESS_STATE_RUNNING);
  state_.answered.store(state_.asked.load());  // What an earlier owner of the slot was asked for.
  state_.owner.store(self);
  state_.thread.store(static_cast<std::uint32_t>(::gettid()));
  futex_wake(state_.thread);
  for (;;) {
    const std::uint32_t asked = state_.asked.load();
    if (asked == state_.answered.load()) {
      futex_wait(state_.asked, asked, kLongNs);
      continue;
    }
    // A call that was meant for an earlier owner may come as late as this.
    state_.result.store(state_.target.load() == self ? perform(state_.call.load())
                                                     : CUDA_ERROR_INVALID_VALUE);
    state_.answered.store(asked);
    futex_wake(state_.answered);
  }
}

CUresult Server::perform(CheckpointCall call) {
  FaultState& faults = driver_.process_slot().world().file().faults;
  wait_out(faults.checkpoint_hang);
  const std::uint32_t error = take_error(faults.checkpoint_errors[static_cast<std::size_t>(call)]);
  if (error != 0) return static_cast<CUresult>(error);
  switch (call) {
    case CheckpointCall::kLock:
      return lock();
    case CheckpointCall::kCheckpoint:
      return checkpoint();
    case CheckpointCall::kRestore:
      return restore();
    case CheckpointCall::kUnlock:
      return unlock();
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult Server::lock() {
  if (!is(CU_PROCESS_STATE_RUNNING)) return CUDA_ERROR_ILLEGAL_STATE;
  const std::uint32_t timeout_ms = state_.timeout_ms.load();
  std::optional<std::chrono::milliseconds> timeout;
  if (timeout_ms != 0) timeout = std::chrono::milliseconds(timeout_ms);
  if (!barrier_.close(timeout)) return CUDA_ERROR_NOT_READY;
  state_.state.store(CU_PROCESS_STATE_LOCKED);
  return CUDA_SUCCESS;
}

CUresult Server::checkpoint() {
  if (!is(CU_PROCESS_STATE_LOCKED)) return CUDA_ERROR_ILLEGAL_STATE;
  const CUresult result = driver_.checkpoint();
  if (result == CUDA_SUCCESS) state_.state.store(CU_PROCESS_STATE_CHECKPOINTED);
  return result;
}

CUresult Server::restore() {
  if (!is(CU_PROCESS_STATE_CHECKPOINTED)) return CUDA_ERROR_ILLEGAL_STATE;
  ProcessSlot::Moves moves;
  for (std::uint32_t from = 0; from < kDevicesMax; ++from) {
    if (const std::uint32_t to = state_.moves[from].load(); to != 0) moves[from] = to - 1;
  }
  const CUresult result = driver_.restore(moves);
  if (result == CUDA_SUCCESS) {
    state_.state.store(CU_PROCESS_STATE_LOCKED);
  } else if (result != CUDA_ERROR_INVALID_VALUE) {
    state_.state.store(CU_PROCESS_STATE_FAILED);
    barrier_.open();  // Who waits there learns that it is over.
  }
  return result;
}

CUresult Server::unlock() {
  if (!is(CU_PROCESS_STATE_LOCKED)) return CUDA_ERROR_ILLEGAL_STATE;
  state_.state.store(CU_PROCESS_STATE_RUNNING);
  barrier_.open();
  return CUDA_SUCCESS;
}

void* run(void* argument) {
  std::unique_ptr<Server>(static_cast<Server*>(argument))->serve();
}

}  // namespace

void serve_checkpoints(Driver& driver, Barrier& barrier) {
  auto server = std::make_unique<Server>(driver, barrier);
  // The program's signals are not for this thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  CHECK(::pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  pthread_t thread{};
  const bool started = ::pthread_create(&thread, nullptr, &run, server.get()) == 0;
  CHECK(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
  if (!started) return;
  (void)::pthread_detach(thread);
  [[maybe_unused]] const Server* serving = server.release();  // run() has it now.
  std::atomic<std::uint32_t>& ready = driver.process_slot().slot().checkpoint.thread;
  while (ready.load() == 0) futex_wait(ready, 0, kLongNs);
}

}  // namespace berth::simgpu
