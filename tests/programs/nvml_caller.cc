// SPDX-License-Identifier: Apache-2.0
// Says what NVML tells it of the memory of the first device, in MiB: "total free used" by the old
// function, "total reserved free used" by the new one. It comes to the functions as its command
// line says: linked, by dlsym of the library, or by dlsym of whatever is loaded ("default").
// "nothing" asks for nothing. It knows nothing of Berth.
#include <dlfcn.h>

#include <bit>
#include <cstdio>
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
using GetMemory = int (*)(Device, Memory*);
using GetMemoryV2 = int (*)(Device, MemoryV2*);

// NOLINTBEGIN(readability-identifier-naming): NVML's names.
extern "C" {
int nvmlInit_v2();
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device);
int nvmlDeviceGetMemoryInfo(Device device, Memory* memory);
int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory);
}
// NOLINTEND(readability-identifier-naming)

namespace {

unsigned long long in_mib(unsigned long long bytes) {
  return bytes >> 20U;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string route = argc > 1 ? argv[1] : "linked";
  if (route == "nothing")
    return ::dlsym(RTLD_DEFAULT, "nvmlDeviceGetMemoryInfo") == nullptr ? 1 : 0;
  GetMemory get = &nvmlDeviceGetMemoryInfo;
  GetMemoryV2 get_v2 = &nvmlDeviceGetMemoryInfo_v2;
  if (route != "linked") {
    void* const library =
        route == "default" ? RTLD_DEFAULT : ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
    get = std::bit_cast<GetMemory>(::dlsym(library, "nvmlDeviceGetMemoryInfo"));
    get_v2 = std::bit_cast<GetMemoryV2>(::dlsym(library, "nvmlDeviceGetMemoryInfo_v2"));
    if (get == nullptr || get_v2 == nullptr) return 1;
  }
  Device device = nullptr;
  if (nvmlInit_v2() != 0 || nvmlDeviceGetHandleByIndex_v2(0, &device) != 0) return 2;
  Memory memory{};
  const int old = get(device, &memory);
  std::printf("%d %llu %llu %llu\n", old, in_mib(memory.total), in_mib(memory.free),
              in_mib(memory.used));
  MemoryV2 news{};
  const int wrong = get_v2(device, &news);  // Of no version.
  news.version = sizeof(MemoryV2) | (2U << 24U);
  const int right = get_v2(device, &news);
  std::printf("%d %d %llu %llu %llu %llu\n", wrong, right, in_mib(news.total),
              in_mib(news.reserved), in_mib(news.free), in_mib(news.used));
  return 0;
}
