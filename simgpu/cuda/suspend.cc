// SPDX-License-Identifier: Apache-2.0
// Checkpoint and restore of a process. The memory that the simulated devices have is the host's
// anyway: its pages stay where they are and are counted as the host's meanwhile, so nothing is
// copied and what was never written costs nothing. The time that it takes is that of all bytes.
#include <cstdlib>

#include "simgpu/cuda/driver.h"
#include "simgpu/world/clock.h"
#include "simgpu/world/fault.h"

namespace berth::simgpu {
namespace {

constexpr int kJobsSince = 13030;  // The driver that can save memory of several processes.

// The real driver's launcher tells a job's processes so that they are one.
bool is_job() {
  const char* file = std::getenv("CUDA_CHECKPOINT_JOB_FILE");
  return file != nullptr && *file != '\0';
}

// What a checkpoint or a restore of so much takes.
void take_the_time(const WorldSpec& spec, std::uint64_t blocks) {
  std::int64_t time_ns = spec.checkpoint_cost.ns;
  if (spec.checkpoint_bandwidth.value > 0) {
    const double seconds = static_cast<double>(blocks * kBlockBytes) /
                           static_cast<double>(spec.checkpoint_bandwidth.value);
    time_ns += static_cast<std::int64_t>(seconds * 1e9);
  }
  HangState moving{};
  set_hang(moving, now_ns() + time_ns);
  wait_out(moving);
}

}  // namespace

bool Driver::has_memory_of_several() const {
  return given_away_ || !foreign_.empty() || !foreign_handles_.empty() ||
         virtual_memory_.has_shared();
}

bool Driver::can_be_saved() const {
  const bool job = kDriverVersion >= kJobsSince && is_job();
  return managed_.empty() && !process_slot_.is_on_shared_device() &&
         (job || !has_memory_of_several());
}

CUresult Driver::checkpoint() {
  if (!can_be_saved()) return CUDA_ERROR_NOT_SUPPORTED;
  wait_out(process_slot_.world().file().faults.busy);
  if (!process_slot_.take_host_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  take_the_time(process_slot_.world().place().spec, process_slot_.held_blocks());
  process_slot_.leave();
  return CUDA_SUCCESS;
}

// What does not come back at once never does: the driver has no way to begin it anew.
CUresult Driver::restore(const ProcessSlot::Moves& moves) {
  const ProcessSlot::Return swapped_in = process_slot_.swap_in(moves);
  if (swapped_in == ProcessSlot::Return::kWrongMove) return CUDA_ERROR_INVALID_VALUE;
  if (swapped_in != ProcessSlot::Return::kDone) {
    ruined_ = true;
    return swapped_in == ProcessSlot::Return::kLost ? CUDA_ERROR_DEVICE_UNAVAILABLE
                                                    : CUDA_ERROR_OUT_OF_MEMORY;
  }
  take_the_time(process_slot_.world().place().spec, process_slot_.held_blocks());
  process_slot_.give_host_memory();
  return CUDA_SUCCESS;
}

}  // namespace berth::simgpu
