// SPDX-License-Identifier: Apache-2.0
// gpu_worker: an unmodified CUDA program for the tests that need a real GPU. It loads the driver
// when it runs, knows nothing of Berth, and needs no compiler of CUDA: its kernels are PTX. What it
// finds it says on stdout, a line "NAME VALUE" each.
//
// Exit: 0 done; 1 the driver refused; 2 the memory held something else than was written; 64 wrong
// usage; 69 no driver; 77 the driver has no such function.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace {

enum Exit { kRefused = 1, kCorrupt = 2, kUsage = 64, kNoDriver = 69, kNoFunction = 77 };
using Bytes = std::uint64_t;
using Address = unsigned long long;
using Clock = std::chrono::steady_clock;
constexpr Bytes kBlockBytes = Bytes{64} << 20U;
constexpr Bytes kPageBytes = Bytes{2} << 20U;
constexpr std::size_t kStripeWords = 1024;  // Of each page, which are read back.
constexpr unsigned kThreads = 256;

constexpr const char* kPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry add_one(.param .u64 data, .param .u32 count) {
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %d1, %d1;
  mul.wide.u32 %d2, %r5, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r6, [%d3];
  add.u32 %r6, %r6, 1;
  st.global.u32 [%d3], %r6;
done:
  ret;
}
)";

[[noreturn]] void fail(int code, const std::string& text) {
  std::cerr << "gpu_worker: " << text << '\n';
  std::exit(code);
}

void* library() {
  static void* const kLoaded = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (kLoaded == nullptr) fail(kNoDriver, std::string("no CUDA driver: ") + ::dlerror());
  return kLoaded;
}

/// Its result, as the driver numbers it.
template <class... Parameters>
int ask(const char* name, Parameters... parameters) {
  void* const address = ::dlsym(library(), name);
  if (address == nullptr) fail(kNoFunction, std::string("the driver has no ") + name);
  int (*function)(Parameters...) = nullptr;
  std::memcpy(static_cast<void*>(&function), static_cast<const void*>(&address), sizeof function);
  return function(parameters...);
}

template <class... Parameters>
void call(const char* name, Parameters... parameters) {
  const int result = ask(name, parameters...);
  if (result == 0) return;
  const char* text = nullptr;
  if (ask("cuGetErrorName", result, &text) != 0 || text == nullptr) text = "an unknown result";
  fail(kRefused, std::string(name) + ": " + text + " (" + std::to_string(result) + ")");
}

void say(const std::string& name, const std::string& value) {
  std::cout << name << ' ' << value << '\n' << std::flush;
}
void say(const std::string& name, double value) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%.6g", value);
  say(name, std::string(text.data()));
}
void say_bytes(const std::string& name, Bytes value) {
  say(name, std::to_string(value));
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int start_on_first_device() {
  call("cuInit", 0U);
  int device = 0;
  call("cuDeviceGet", &device, 0);
  void* context = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, device);
  call("cuCtxSetCurrent", context);
  return device;
}

void say_facts(int device) {
  int version = 0;
  std::array<char, 128> name{};
  std::size_t free = 0;
  std::size_t total = 0;
  call("cuDriverGetVersion", &version);
  call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), device);
  call("cuMemGetInfo_v2", &free, &total);
  say("cuda", std::to_string(version));
  say("name", std::string(name.data()));
  say_bytes("free", free);
  say_bytes("total", total);
}

/// A block's words are all the same, and no two blocks have the same.
void check(const std::vector<Address>& blocks) {
  std::vector<unsigned> words(kStripeWords);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto wanted = static_cast<unsigned>(i + 1);
    for (Bytes from = 0; from < kBlockBytes; from += kPageBytes) {
      call("cuMemcpyDtoH_v2", static_cast<void*>(words.data()), blocks[i] + from,
           words.size() * sizeof(unsigned));
      if (std::ranges::any_of(words, [&](unsigned word) { return word != wanted; }))
        fail(kCorrupt, "block " + std::to_string(i) + " is not what was written");
    }
  }
}

void hold(Bytes bytes) {
  std::vector<Address> blocks((bytes + kBlockBytes - 1) / kBlockBytes);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    call("cuMemAlloc_v2", &blocks[i], std::size_t{kBlockBytes});
    call("cuMemsetD32_v2", blocks[i], static_cast<unsigned>(i + 1),
         std::size_t{kBlockBytes / sizeof(unsigned)});
  }
  call("cuCtxSynchronize");
  say_bytes("holding", blocks.size() * kBlockBytes);
  for (std::string line; std::getline(std::cin, line);) {
    check(blocks);
    say("intact", line);
  }
}

void grow(Bytes step, Bytes limit) {
  Bytes had = 0;
  for (; had < limit; had += step) {
    Address block = 0;
    const int result = ask("cuMemAlloc_v2", &block, std::size_t{step});
    if (result != 0) {
      say("refused", std::to_string(result));
      break;
    }
  }
  say_bytes("allocated", had);
  for (std::string line; std::getline(std::cin, line);) {  // Held until the input ends.
  }
}

void* kernel(const char* name) {
  void* module = nullptr;
  void* function = nullptr;
  call("cuModuleLoadData", &module, static_cast<const void*>(kPtx));
  call("cuModuleGetFunction", &function, module, name);
  return function;
}

void launch(void* function, unsigned blocks, void** parameters) {
  call("cuLaunchKernel", function, blocks, 1U, 1U, kThreads, 1U, 1U, 0U,
       static_cast<void*>(nullptr), parameters, static_cast<void**>(nullptr));
}

void compute() {
  constexpr unsigned kCount = 1'000'000;
  std::vector<unsigned> numbers(kCount);
  for (unsigned i = 0; i < kCount; ++i) numbers[i] = i;
  const std::size_t bytes = numbers.size() * sizeof(unsigned);
  Address data = 0;
  unsigned count = kCount;
  call("cuMemAlloc_v2", &data, bytes);
  call("cuMemcpyHtoD_v2", data, static_cast<const void*>(numbers.data()), bytes);
  std::array<void*, 2> parameters = {&data, &count};
  launch(kernel("add_one"), (kCount + kThreads - 1) / kThreads, parameters.data());
  call("cuMemcpyDtoH_v2", static_cast<void*>(numbers.data()), data, bytes);
  for (unsigned i = 0; i < kCount; ++i) {
    if (numbers[i] != i + 1) fail(kCorrupt, "number " + std::to_string(i) + " is wrong");
  }
  say("computed", std::to_string(kCount));
}

void time_launches(Bytes count) {
  void* const function = kernel("nothing");
  launch(function, 1, nullptr);
  call("cuCtxSynchronize");
  const auto start = Clock::now();
  for (Bytes i = 0; i < count; ++i) launch(function, 1, nullptr);
  call("cuCtxSynchronize");
  say("launch_ns", seconds_since(start) * 1e9 / static_cast<double>(count));
}

void time_allocations(Bytes count, Bytes bytes) {
  const auto start = Clock::now();
  for (Bytes i = 0; i < count; ++i) {
    Address block = 0;
    call("cuMemAlloc_v2", &block, std::size_t{bytes});
    call("cuMemFree_v2", block);
  }
  say("allocate_and_free_ns", seconds_since(start) * 1e9 / static_cast<double>(count));
}

void time_copies(Bytes bytes) {
  constexpr int kTimes = 5;
  void* host = nullptr;
  Address device = 0;
  call("cuMemAllocHost_v2", &host, std::size_t{bytes});
  call("cuMemAlloc_v2", &device, std::size_t{bytes});
  std::memset(host, 1, bytes);
  const double gigabytes = static_cast<double>(bytes) * kTimes / 1e9;
  call("cuMemcpyHtoD_v2", device, static_cast<const void*>(host), std::size_t{bytes});
  auto start = Clock::now();
  for (int i = 0; i < kTimes; ++i)
    call("cuMemcpyHtoD_v2", device, static_cast<const void*>(host), std::size_t{bytes});
  say("to_device_gb_per_s", gigabytes / seconds_since(start));
  start = Clock::now();
  for (int i = 0; i < kTimes; ++i) call("cuMemcpyDtoH_v2", host, device, std::size_t{bytes});
  say("to_host_gb_per_s", gigabytes / seconds_since(start));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count > 1 ? arguments[1] : "";
  const auto number = [&](int index) {
    return index < count ? std::strtoull(arguments[index], nullptr, 10) : 0ULL;
  };
  const int device = start_on_first_device();
  if (verb == "facts") {
    say_facts(device);
  } else if (verb == "hold" && number(2) > 0) {
    hold(number(2));
  } else if (verb == "grow" && number(2) > 0) {
    grow(number(2), number(3));
  } else if (verb == "compute") {
    compute();
  } else if (verb == "launches" && number(2) > 0) {
    time_launches(number(2));
  } else if (verb == "allocations" && number(2) > 0) {
    time_allocations(number(2), number(3));
  } else if (verb == "copies" && number(2) > 0) {
    time_copies(number(2));
  } else {
    fail(kUsage,
         "usage: gpu_worker facts|compute|hold BYTES|grow STEP LIMIT|launches COUNT|"
         "allocations COUNT BYTES|copies BYTES");
  }
  return 0;
}
