// SPDX-License-Identifier: Apache-2.0
#include "gpu/checkpoint_calls.h"

#include <dlfcn.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "abi/cuda.h"
#include "gpu/library.h"
#include "os/host_memory.h"

namespace berth::gpu {
namespace {

using State = CheckpointCalls::State;

struct Functions {
  decltype(&cuInit) init;
  decltype(&cuGetErrorName) error_name;
  decltype(&cuGetErrorString) error_string;
  decltype(&cuDriverGetVersion) driver_version;
  decltype(&cuCheckpointProcessGetState) state;
  decltype(&cuCheckpointProcessGetRestoreThreadId) restore_thread;
  decltype(&cuCheckpointProcessLock) lock;
  decltype(&cuCheckpointProcessCheckpoint) checkpoint;
  decltype(&cuCheckpointProcessRestore) restore;
  decltype(&cuCheckpointProcessUnlock) unlock;
};

constexpr const char* kWhatIsNotMoved =
    "; the driver does not move managed memory, memory that processes share, what runs under MIG "
    "or MPS, and nothing on aarch64";

CUuuid uuid_of(const DeviceId& device) {
  return std::bit_cast<CUuuid>(uuid_bytes(device));
}

class Driver final : public CheckpointCalls {
 public:
  Driver(const Functions& functions, bool simulated)
      : functions_(functions), simulated_(simulated) {}

  bool uses_cuda(std::int32_t pid) override {
    int thread = 0;
    return functions_.restore_thread(pid, &thread) == CUDA_SUCCESS;
  }
  Result<State> state(std::int32_t pid) override {
    CUprocessState state{};
    TRY_STATUS(checked("cuCheckpointProcessGetState", functions_.state(pid, &state)));
    if (state > CU_PROCESS_STATE_FAILED) {
      return Error{Errc::kCorrupt, "the driver tells the unknown state " + std::to_string(state)};
    }
    return static_cast<State>(state);
  }
  Status lock(std::int32_t pid, Duration within) override {
    CUcheckpointLockArgs arguments{};
    arguments.timeoutMs = static_cast<std::uint32_t>(within.ns / milliseconds(1).ns);
    return checked("cuCheckpointProcessLock", functions_.lock(pid, &arguments));
  }
  Status checkpoint(std::int32_t pid) override {
    CUcheckpointCheckpointArgs arguments{};
    const CUresult result = functions_.checkpoint(pid, &arguments);
    Status moved = checked("cuCheckpointProcessCheckpoint", result);
    if (result != CUDA_ERROR_NOT_SUPPORTED) return moved;
    return Error{moved.error().code, moved.error().message + kWhatIsNotMoved};
  }
  Status restore(std::int32_t pid, std::span<const DevicePair> pairs) override {
    std::vector<CUcheckpointGpuPair> words;
    words.reserve(pairs.size());
    for (const DevicePair& pair : pairs) {
      words.push_back({.oldUuid = uuid_of(pair.from), .newUuid = uuid_of(pair.to)});
    }
    CUcheckpointRestoreArgs arguments{};
    if (!words.empty()) {
      arguments.gpuPairs = words.data();
      arguments.gpuPairsCount = static_cast<unsigned int>(words.size());
    }
    return checked("cuCheckpointProcessRestore", functions_.restore(pid, &arguments));
  }
  Status unlock(std::int32_t pid) override {
    CUcheckpointUnlockArgs arguments{};
    return checked("cuCheckpointProcessUnlock", functions_.unlock(pid, &arguments));
  }
  std::optional<Bytes> host_room(std::int32_t pid) override {
    // What the simulated driver keeps takes far less than it stands for.
    if (simulated_) return std::nullopt;
    return os::host_memory_left(pid);
  }

 private:
  Status checked(const char* call, CUresult result) const {
    if (result == CUDA_SUCCESS) return Unit{};
    const char* name = nullptr;
    const char* text = nullptr;
    (void)functions_.error_name(result, &name);
    (void)functions_.error_string(result, &text);
    std::string words = name == nullptr ? "error " + std::to_string(result) : name;
    if (text != nullptr) words += std::string(", ") + text;
    return Error{Errc::kUnavailable, std::string(call) + ": " + words};
  }

  Functions functions_;
  bool simulated_;
};

std::string version_text(const Functions& functions) {
  int version = 0;
  if (functions.driver_version(&version) != CUDA_SUCCESS) return "unknown";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

// The library stays loaded: a process that has asked the driver does nothing else.
Result<std::unique_ptr<CheckpointCalls>> load_checkpoint_calls(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* said = ::dlerror();
    return Error{Errc::kUnavailable, said == nullptr ? library + " cannot be loaded" : said};
  }
  Functions functions{};
  const bool sound = find_function(handle, "cuInit", functions.init) &&
                     find_function(handle, "cuGetErrorName", functions.error_name) &&
                     find_function(handle, "cuGetErrorString", functions.error_string) &&
                     find_function(handle, "cuDriverGetVersion", functions.driver_version);
  if (!sound) return Error{Errc::kUnavailable, library + " is not NVIDIA's library"};
  const bool able =
      find_function(handle, "cuCheckpointProcessGetState", functions.state) &&
      find_function(handle, "cuCheckpointProcessGetRestoreThreadId", functions.restore_thread) &&
      find_function(handle, "cuCheckpointProcessLock", functions.lock) &&
      find_function(handle, "cuCheckpointProcessCheckpoint", functions.checkpoint) &&
      find_function(handle, "cuCheckpointProcessRestore", functions.restore) &&
      find_function(handle, "cuCheckpointProcessUnlock", functions.unlock);
  if (!able) {
    return Error{Errc::kUnavailable, "the driver, of CUDA " + version_text(functions) +
                                         ", cannot move memory to the host; one of CUDA 12.8 "
                                         "(570) or later can"};
  }
  // Without it, or persistence mode, nothing can be restored.
  if (const CUresult result = functions.init(0); result != CUDA_SUCCESS) {
    const char* name = nullptr;
    (void)functions.error_name(result, &name);
    return Error{Errc::kUnavailable, std::string("cuInit: ") + (name == nullptr ? "?" : name)};
  }
  const bool simulated = ::dlsym(handle, "berthSimulatedWorld") != nullptr;
  return std::unique_ptr<CheckpointCalls>(std::make_unique<Driver>(functions, simulated));
}

}  // namespace berth::gpu
