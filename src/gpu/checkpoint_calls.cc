// SPDX-License-Identifier: Apache-2.0
#include "gpu/checkpoint_calls.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/library.h"
#include "os/host_memory.h"

namespace berth::gpu {
namespace {

using CuResult = int;
using State = CheckpointCalls::State;

constexpr CuResult kSuccess = 0;
constexpr CuResult kNotSupported = 801;
constexpr std::size_t kArgumentWords = 8;

/// The arguments of every call are 64 bytes; what has no meaning yet must be zero. Of the first
/// word, cuCheckpointProcessLock takes the lower half as a time in milliseconds.
struct Arguments {
  std::array<std::uint64_t, kArgumentWords> words{};
};
static_assert(sizeof(Arguments) == 64);

using Act = CuResult (*)(int, Arguments*);

/// CUcheckpointGpuPair.
struct GpuPair {
  std::array<std::uint8_t, 16> from;
  std::array<std::uint8_t, 16> to;
};
static_assert(sizeof(GpuPair) == 32);

struct Functions {
  CuResult (*init)(unsigned int);
  CuResult (*error_name)(CuResult, const char**);
  CuResult (*error_string)(CuResult, const char**);
  CuResult (*driver_version)(int*);
  CuResult (*state)(int, int*);
  CuResult (*restore_thread)(int, int*);
  Act lock;
  Act checkpoint;
  Act restore;
  Act unlock;
};

constexpr const char* kWhatIsNotMoved =
    "; the driver does not move managed memory, memory that processes share, what runs under MIG "
    "or MPS, and nothing on aarch64";

class Driver final : public CheckpointCalls {
 public:
  Driver(const Functions& functions, bool simulated)
      : functions_(functions), simulated_(simulated) {}

  bool uses_cuda(std::int32_t pid) override {
    int thread = 0;
    return functions_.restore_thread(pid, &thread) == kSuccess;
  }
  Result<State> state(std::int32_t pid) override {
    int state = 0;
    TRY_STATUS(checked("cuCheckpointProcessGetState", functions_.state(pid, &state)));
    if (state < 0 || state > static_cast<int>(State::kFailed)) {
      return Error{Errc::kCorrupt, "the driver tells the unknown state " + std::to_string(state)};
    }
    return static_cast<State>(state);
  }
  Status lock(std::int32_t pid, Duration within) override {
    Arguments arguments;
    arguments.words[0] = static_cast<std::uint32_t>(within.ns / milliseconds(1).ns);
    return checked("cuCheckpointProcessLock", functions_.lock(pid, &arguments));
  }
  Status checkpoint(std::int32_t pid) override {
    Arguments arguments;
    const CuResult result = functions_.checkpoint(pid, &arguments);
    Status moved = checked("cuCheckpointProcessCheckpoint", result);
    if (result != kNotSupported) return moved;
    return Error{moved.error().code, moved.error().message + kWhatIsNotMoved};
  }
  Status restore(std::int32_t pid, std::span<const DevicePair> pairs) override {
    std::vector<GpuPair> words;
    words.reserve(pairs.size());
    for (const DevicePair& pair : pairs) {
      words.push_back({.from = uuid_bytes(pair.from), .to = uuid_bytes(pair.to)});
    }
    Arguments arguments;
    if (!words.empty()) {
      arguments.words[0] = reinterpret_cast<std::uintptr_t>(words.data());
      arguments.words[1] = words.size();  // The lower half; the upper one is reserved.
    }
    return checked("cuCheckpointProcessRestore", functions_.restore(pid, &arguments));
  }
  Status unlock(std::int32_t pid) override {
    Arguments arguments;
    return checked("cuCheckpointProcessUnlock", functions_.unlock(pid, &arguments));
  }
  std::optional<Bytes> host_room(std::int32_t pid) override {
    // What the simulated driver keeps takes far less than it stands for.
    if (simulated_) return std::nullopt;
    return os::host_memory_left(pid);
  }

 private:
  Status checked(const char* call, CuResult result) const {
    if (result == kSuccess) return Unit{};
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
  if (functions.driver_version(&version) != kSuccess) return "unknown";
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
  if (const CuResult result = functions.init(0); result != kSuccess) {
    const char* name = nullptr;
    (void)functions.error_name(result, &name);
    return Error{Errc::kUnavailable, std::string("cuInit: ") + (name == nullptr ? "?" : name)};
  }
  const bool simulated = ::dlsym(handle, "berthSimulatedWorld") != nullptr;
  return std::unique_ptr<CheckpointCalls>(std::make_unique<Driver>(functions, simulated));
}

}  // namespace berth::gpu
