// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 that does nothing and takes no lock: with it in the place of the simulated driver
// the time of a call is the guard's own. One device, the first of the lease; addresses are given
// out in pages of 2 MiB, to each thread from a range of its own, and never twice.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::uint64_t kPage = std::uint64_t{2} << 20U;
constexpr std::uint64_t kOfAThread = std::uint64_t{1} << 40U;

char context;
std::atomic<std::uint64_t> next_range = kOfAThread;
thread_local std::uint64_t next_address = 0;

}  // namespace

extern "C" {

int cuInit(unsigned int /*flags*/) {
  return 0;
}
int cuDevicePrimaryCtxRetain(void** made, int /*device*/) {
  *made = &context;
  return 0;
}
int cuCtxSetCurrent(void* /*context*/) {
  return 0;
}
int cuCtxGetCurrent(void** current) {
  *current = &context;
  return 0;
}
int cuDeviceGetUuid_v2(std::uint8_t* uuid, int /*device*/) {  // BERTH_GPUS: GPU-01234567-89ab-…
  const char* text = std::getenv("BERTH_GPUS");
  if (text == nullptr || std::strlen(text) < 40) return 999;
  text += 4;
  for (int i = 0; i < 16; ++i) {
    if (*text == '-') ++text;
    const char digits[] = {text[0], text[1], '\0'};
    uuid[i] = static_cast<std::uint8_t>(std::strtoul(digits, nullptr, 16));
    text += 2;
  }
  return 0;
}
int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  if (next_address == 0) next_address = next_range.fetch_add(kOfAThread);
  *pointer = next_address;
  next_address += (bytes + kPage - 1) / kPage * kPage;
  return 0;
}
int cuMemFree_v2(std::uint64_t /*pointer*/) {
  return 0;
}
int cuLaunchKernel() {
  return 0;
}

}  // extern "C"
