// SPDX-License-Identifier: Apache-2.0
// A caller of NVML: says what that reports of the memory of the first device, in MiB: "total free
// used" by the old function, "total reserved free used" by the new one. It comes to the functions
// as its command line says: linked; by dlsym of the library, or of whatever is loaded ("default");
// past preloaded libraries, by a library that was loaded with RTLD_DEEPBIND ("deepbind",
// "deepbind_now"), by an NVML in a namespace of its own ("dlmopen"), and by such a library in such
// a namespace ("namespace"); "twice", by an NVML in each of two namespaces; or "beside", linked,
// when it has 200 MiB by a CUDA driver in a namespace of its own. "nothing" asks for nothing, and
// "processes" for how much each process of the first device has, by each version of that function.
// It knows nothing of Berth.
#include <dlfcn.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>

using Device = struct DeviceHandle*;
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct MemoryV2 {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
struct Process {
  unsigned int pid;
  unsigned long long used;
};
struct ProcessV2 {
  unsigned int pid;
  unsigned long long used;
  unsigned int instances[2];
};
// NOLINTBEGIN(readability-identifier-naming): NVML's names.
extern "C" {
int nvmlInit_v2();
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device);
int nvmlDeviceGetMemoryInfo(Device device, Memory* memory);
int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory);
int nvmlDeviceGetComputeRunningProcesses(Device device, unsigned int* count, Process* list);
int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned int* count, ProcessV2* list);
int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned int* count, ProcessV2* list);
}
// NOLINTEND(readability-identifier-naming)

namespace {

struct Functions {
  int (*init)();
  int (*device)(unsigned int, Device*);
  int (*memory)(Device, Memory*);
  int (*memory_v2)(Device, MemoryV2*);
};

// find(name) is the address of the function.
template <class Find>
Functions functions_by(Find find) {
  const auto found = [&]<class Function>(Function*& function, const char* name) {
    void* const address = find(name);
    if (address == nullptr) std::exit(1);
    function = std::bit_cast<Function*>(address);
  };
  Functions functions{};
  found(functions.init, "nvmlInit_v2");
  found(functions.device, "nvmlDeviceGetHandleByIndex_v2");
  found(functions.memory, "nvmlDeviceGetMemoryInfo");
  found(functions.memory_v2, "nvmlDeviceGetMemoryInfo_v2");
  return functions;
}

// Of this handle of a library.
Functions functions_of(void* library) {
  if (library == nullptr) std::exit(1);
  return functions_by([&](const char* name) { return ::dlsym(library, name); });
}

// As that library calls them which is linked with NVML.
Functions functions_behind(void* library) {
  if (library == nullptr) std::exit(1);
  const auto call = std::bit_cast<void* (*)(const char*)>(::dlsym(library, "library_call"));
  if (call == nullptr) std::exit(1);
  return functions_by(call);
}

Functions functions_by_route(const std::string& route) {
  constexpr const char* kNvml = "libnvidia-ml.so.1";
  constexpr const char* kCalls = CALLS_LIBRARY;
  if (route == "dlsym") return functions_of(::dlopen(kNvml, RTLD_NOW));
  if (route == "default") {
    return functions_by([](const char* name) { return ::dlsym(RTLD_DEFAULT, name); });
  }
  if (route == "dlmopen") return functions_of(::dlmopen(LM_ID_NEWLM, kNvml, RTLD_NOW));
  if (route == "namespace") return functions_behind(::dlmopen(LM_ID_NEWLM, kCalls, RTLD_NOW));
  if (route == "deepbind") return functions_behind(::dlopen(kCalls, RTLD_LAZY | RTLD_DEEPBIND));
  if (route == "deepbind_now") return functions_behind(::dlopen(kCalls, RTLD_NOW | RTLD_DEEPBIND));
  return {.init = &nvmlInit_v2,
          .device = &nvmlDeviceGetHandleByIndex_v2,
          .memory = &nvmlDeviceGetMemoryInfo,
          .memory_v2 = &nvmlDeviceGetMemoryInfo_v2};
}

unsigned long long in_mib(unsigned long long bytes) {
  return bytes >> 20U;
}

bool tell(const Functions& nvml) {
  Device device = nullptr;
  if (nvml.init() != 0 || nvml.device(0, &device) != 0) return false;
  Memory memory{};
  const int old = nvml.memory(device, &memory);
  std::printf("%d %llu %llu %llu\n", old, in_mib(memory.total), in_mib(memory.free),
              in_mib(memory.used));
  MemoryV2 news{};
  const int wrong = nvml.memory_v2(device, &news);  // Of no version.
  news.version = sizeof(MemoryV2) | (2U << 24U);
  const int right = nvml.memory_v2(device, &news);
  std::printf("%d %d %llu %llu %llu %llu\n", wrong, right, in_mib(news.total),
              in_mib(news.reserved), in_mib(news.free), in_mib(news.used));
  return true;
}

// One line: its result, and what each has, in MiB. First with a list that is too short.
template <class Info>
bool tell_processes(Device device, int (*ask)(Device, unsigned int*, Info*)) {
  Info list[16] = {};
  unsigned int count = 0;
  const int first = ask(device, &count, list);
  count = 16;
  const int second = ask(device, &count, list);
  std::printf("%d %d", first, second);
  for (unsigned int i = 0; second == 0 && i < count; ++i)
    std::printf(" %llu", in_mib(list[i].used));
  std::printf("\n");
  return second == 0;
}

bool tell_processes() {
  Device device = nullptr;
  return nvmlInit_v2() == 0 && nvmlDeviceGetHandleByIndex_v2(0, &device) == 0 &&
         tell_processes(device, &nvmlDeviceGetComputeRunningProcesses) &&
         tell_processes(device, &nvmlDeviceGetComputeRunningProcesses_v2) &&
         tell_processes(device, &nvmlDeviceGetComputeRunningProcesses_v3);
}

bool take_memory_elsewhere() {
  void* const driver = ::dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
  const auto call = [&](const char* name, auto... arguments) {
    void* const address = driver == nullptr ? nullptr : ::dlsym(driver, name);
    return address != nullptr &&
           std::bit_cast<int (*)(decltype(arguments)...)>(address)(arguments...) == 0;
  };
  void* context = nullptr;
  unsigned long long memory = 0;
  return call("cuInit", 0U) && call("cuDevicePrimaryCtxRetain", &context, 0) &&
         call("cuCtxSetCurrent", context) && call("cuMemAlloc_v2", &memory, 200UL << 20U);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string route = argc > 1 ? argv[1] : "linked";
  if (route == "nothing")
    return ::dlsym(RTLD_DEFAULT, "nvmlDeviceGetMemoryInfo") == nullptr ? 1 : 0;
  if (route == "processes") return tell_processes() ? 0 : 2;
  if (route == "beside" && !take_memory_elsewhere()) return 3;
  if (route == "twice") {
    const Functions first = functions_by_route("dlmopen");
    return tell(first) && tell(functions_by_route("dlmopen")) && tell(first) ? 0 : 2;
  }
  return tell(functions_by_route(route)) ? 0 : 2;
}
