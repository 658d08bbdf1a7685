// SPDX-License-Identifier: Apache-2.0
// Calls the CUDA driver as it is told: reads one call a line, answers each with a line "RESULT …".
// The word on its command line says by which way it comes to the driver's functions, and so by
// which way a guard has to be in front of them. It knows nothing of Berth.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "linked.h"

namespace {

using Word = unsigned long long;
// The name that cuGetProcAddress knows, and a CUDA version at which it means this function.
struct Query {
  std::string name;
  int version;
};
Query query_of(const std::string& symbol) {
  const char* said = std::getenv("CALLER_CUDA");
  const int version = said == nullptr ? 12090 : static_cast<int>(std::strtol(said, nullptr, 10));
  if (symbol == "cuCtxCreate_v2") return {"cuCtxCreate", 11000};
  const std::size_t end = symbol.rfind("_v");
  return {end == std::string::npos ? symbol : symbol.substr(0, end), version};
}

class Route {
 public:
  explicit Route(std::string name) : name_(std::move(name)) {
    if (name_ != "linked") library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (name_ != "linked" && library_ == nullptr) std::exit(69);
  }

  Any find(const std::string& symbol) {
    if (name_ == "linked") return linked_call(symbol);
    if (name_ == "dlsym") return ::dlsym(library_, symbol.c_str());
    if (name_ == "dlvsym") {  // The C library's dlsym, past whatever stands in front of it.
      const auto find =
          reinterpret_cast<decltype(&::dlsym)>(::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
      return find(library_, symbol.c_str());
    }
    if (name_ == "default") {
      (void)::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
      return ::dlsym(RTLD_DEFAULT, symbol.c_str());
    }
    const Query query = query_of(symbol);
    void* found = nullptr;
    if (name_ == "proc") {
      const auto get = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t)>(
          ::dlsym(library_, "cuGetProcAddress"));
      (void)get(query.name.c_str(), &found, query.version, 0);
    } else if (name_ == "proc_v2" || name_ == "proc_self") {
      using Get = int (*)(const char*, void**, int, std::uint64_t, int*);
      auto get = reinterpret_cast<Get>(::dlsym(library_, "cuGetProcAddress_v2"));
      int status = 0;
      if (name_ == "proc_self") {  // As the run-time does: asked for itself first.
        (void)get("cuGetProcAddress", &found, query.version, 0, &status);
        get = reinterpret_cast<Get>(found);
      }
      (void)get(query.name.c_str(), &found, query.version, 0, &status);
    }
    return found;
  }

 private:
  std::string name_;
  void* library_ = nullptr;
};

template <class... Arguments>
int call(Any function, Arguments... arguments) {
  if (function == nullptr) return -1;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

class Caller {
 public:
  explicit Caller(const std::string& route) : route_(route) {
    (void)call(route_.find("cuInit"), 0U);
    declare_contexts();
    declare_memory();
    declare_arrays();
    declare_virtual_memory();
    declare_pools();
    declare_threads();
  }

  void run() {
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string verb;
      words >> verb;
      const auto found = verbs_.find(verb);
      std::cout << (found == verbs_.end() ? "no such call" : found->second(words)) << '\n'
                << std::flush;
    }
  }

 private:
  using Words = std::istringstream;

  static std::string text(int result, const std::string& more = "") {
    return std::to_string(result) + (more.empty() ? "" : " " + more);
  }
  static std::string name_in(Words& words) {
    std::string name;
    words >> name;
    return name;
  }
  static Word number_in(Words& words) {
    Word number = 0;
    words >> number;
    return number;
  }

  void declare_contexts() {
    verbs_["retain"] = [this](Words& words) {
      void* context = nullptr;
      const int device = static_cast<int>(number_in(words));
      const int result = call(route_.find("cuDevicePrimaryCtxRetain"), &context, device);
      if (result == 0) (void)call(route_.find("cuCtxSetCurrent"), context);
      return text(result);
    };
    verbs_["release"] = [this](Words& words) {
      return text(
          call(route_.find("cuDevicePrimaryCtxRelease_v2"), static_cast<int>(number_in(words))));
    };
    verbs_["reset"] = [this](Words& words) {
      return text(
          call(route_.find("cuDevicePrimaryCtxReset_v2"), static_cast<int>(number_in(words))));
    };
    verbs_["create"] = [this](Words& words) {
      void*& context = contexts_[name_in(words)];
      return text(call(route_.find("cuCtxCreate_v2"), &context, 0U, static_cast<int>(0)));
    };
    verbs_["destroy"] = [this](Words& words) {
      return text(call(route_.find("cuCtxDestroy_v2"), contexts_[name_in(words)]));
    };
    verbs_["current"] = [this](Words& words) {
      return text(call(route_.find("cuCtxSetCurrent"), contexts_[name_in(words)]));
    };
  }

  void declare_memory() {
    verbs_["alloc"] = [this](Words& words) {
      const std::string name = name_in(words);
      Word pointer = kUntouched;
      const int result =
          call(route_.find("cuMemAlloc_v2"), &pointer, static_cast<std::size_t>(number_in(words)));
      if (result == 0) pointers_[name] = pointer;
      return text(result, result == 0 || pointer == kUntouched ? "" : "touched");
    };
    verbs_["managed"] = [this](Words& words) {
      const std::string name = name_in(words);
      Word pointer = 0;
      const int result = call(route_.find("cuMemAllocManaged"), &pointer,
                              static_cast<std::size_t>(number_in(words)), 1U);
      if (result != 0) return text(result);
      pointers_[name] = pointer;
      *std::bit_cast<volatile char*>(pointer) = 'x';  // The host may.
      return text(result);
    };
    verbs_["pitch"] = [this](Words& words) {  // NAME WIDTH HEIGHT
      const std::string name = name_in(words);
      Word pointer = 0;
      std::size_t pitch = 0;
      const auto width = static_cast<std::size_t>(number_in(words));
      const int result = call(route_.find("cuMemAllocPitch_v2"), &pointer, &pitch, width,
                              static_cast<std::size_t>(number_in(words)), 4U);
      if (result == 0) pointers_[name] = pointer;
      return text(result);
    };
    verbs_["free"] = [this](Words& words) {
      return text(call(route_.find("cuMemFree_v2"), pointers_[name_in(words)]));
    };
    verbs_["free_null"] = [this](Words&) {
      return text(call(route_.find("cuMemFree_v2"), static_cast<Word>(0)));
    };
    verbs_["info"] = [this](Words&) {
      std::size_t free = 0;
      std::size_t total = 0;
      const int result = call(route_.find("cuMemGetInfo_v2"), &free, &total);
      return text(result, std::to_string(free) + " " + std::to_string(total));
    };
    verbs_["total"] = [this](Words& words) {
      std::size_t total = 0;
      const int result =
          call(route_.find("cuDeviceTotalMem_v2"), &total, static_cast<int>(number_in(words)));
      return text(result, std::to_string(total));
    };
    verbs_["counted"] = [this](Words&) {  // By the simulated driver.
      std::size_t bytes = 0;
      const int result = call(route_.find("berthSimulatedUsedBytes"), &bytes, 0);
      return text(result, std::to_string(bytes));
    };
    verbs_["has"] = [this](Words& words) {
      return std::string(route_.find(name_in(words)) == nullptr ? "no" : "yes");
    };
  }

  // As cuda.h has it: elements of four floats.
  struct Flat {
    std::size_t width, height;
    unsigned int format = 0x20, channels = 4;
  };
  struct Deep {
    std::size_t width, height, depth;
    unsigned int format = 0x20, channels = 4, flags = 0;
  };

  void declare_arrays() {
    const auto size_in = [](Words& words) { return static_cast<std::size_t>(number_in(words)); };
    verbs_["array"] = [=, this](Words& words) {  // NAME WIDTH HEIGHT
      void*& array = arrays_[name_in(words)];
      const std::size_t width = size_in(words);
      const Flat what{.width = width, .height = size_in(words)};
      return text(call(route_.find("cuArrayCreate_v2"), &array, &what));
    };
    verbs_["array3"] = [=, this](Words& words) {  // NAME WIDTH HEIGHT DEPTH FLAGS
      void*& array = arrays_[name_in(words)];
      Deep what{.width = size_in(words), .height = 0, .depth = 0};
      what.height = size_in(words);
      what.depth = size_in(words);
      what.flags = static_cast<unsigned int>(number_in(words));
      return text(call(route_.find("cuArray3DCreate_v2"), &array, &what));
    };
    verbs_["mipmap"] = [=, this](Words& words) {  // NAME WIDTH HEIGHT LEVELS
      void*& array = arrays_[name_in(words)];
      Deep what{.width = size_in(words), .height = 0, .depth = 0};
      what.height = size_in(words);
      return text(call(route_.find("cuMipmappedArrayCreate"), &array, &what,
                       static_cast<unsigned int>(number_in(words))));
    };
    verbs_["unarray"] = [this](Words& words) {
      return text(call(route_.find("cuArrayDestroy"), arrays_[name_in(words)]));
    };
    verbs_["unmipmap"] = [this](Words& words) {
      return text(call(route_.find("cuMipmappedArrayDestroy"), arrays_[name_in(words)]));
    };
  }

  // As cuda.h has it: pinned memory of a device.
  struct Properties {
    int type = 1;
    int handle_types = 0;
    int location_type = 1;
    int location = 0;
    void* metadata = nullptr;
    unsigned char flags[8] = {};
  };

  void declare_virtual_memory() {
    verbs_["m_create"] = [this](Words& words) {  // HANDLE BYTES
      const std::string name = name_in(words);
      const Properties properties;
      Word handle = 0;
      const int result = call(route_.find("cuMemCreate"), &handle,
                              static_cast<std::size_t>(number_in(words)), &properties, Word{0});
      if (result == 0) pointers_[name] = handle;
      return text(result);
    };
    verbs_["m_release"] = [this](Words& words) {
      return text(call(route_.find("cuMemRelease"), pointers_[name_in(words)]));
    };
    verbs_["m_retain"] = [this](Words& words) {  // HANDLE ADDRESS OFFSET
      Word& handle = pointers_[name_in(words)];
      const Word address = pointers_[name_in(words)];
      return text(call(route_.find("cuMemRetainAllocationHandle"), &handle,
                       std::bit_cast<void*>(address + number_in(words))));
    };
    verbs_["m_reserve"] = [this](Words& words) {  // ADDRESS BYTES
      Word& address = pointers_[name_in(words)];
      return text(call(route_.find("cuMemAddressReserve"), &address,
                       static_cast<std::size_t>(number_in(words)), std::size_t{0}, Word{0},
                       Word{0}));
    };
    verbs_["m_map"] = [this](Words& words) {  // ADDRESS OFFSET BYTES HANDLE
      const Word address = pointers_[name_in(words)] + number_in(words);
      const auto bytes = static_cast<std::size_t>(number_in(words));
      return text(call(route_.find("cuMemMap"), address, bytes, std::size_t{0},
                       pointers_[name_in(words)], Word{0}));
    };
    verbs_["m_unmap"] = [this](Words& words) {  // ADDRESS OFFSET BYTES
      const Word address = pointers_[name_in(words)] + number_in(words);
      return text(
          call(route_.find("cuMemUnmap"), address, static_cast<std::size_t>(number_in(words))));
    };
  }

  void declare_pools() {
    verbs_["async"] = [this](Words& words) {  // NAME BYTES
      const std::string name = name_in(words);
      Word pointer = 0;
      const int result =
          call(route_.find("cuMemAllocAsync"), &pointer, static_cast<std::size_t>(number_in(words)),
               static_cast<void*>(nullptr));
      if (result == 0) pointers_[name] = pointer;
      return text(result);
    };
    verbs_["free_async"] = [this](Words& words) {
      return text(call(route_.find("cuMemFreeAsync"), pointers_[name_in(words)],
                       static_cast<void*>(nullptr)));
    };
    verbs_["threshold"] = [this](Words& words) {  // Of the default pool.
      void* pool = nullptr;
      (void)call(route_.find("cuDeviceGetDefaultMemPool"), &pool, 0);
      Word bytes = number_in(words);
      return text(call(route_.find("cuMemPoolSetAttribute"), pool, 4, &bytes));
    };
    verbs_["trim"] = [this](Words& words) {
      void* pool = nullptr;
      (void)call(route_.find("cuDeviceGetDefaultMemPool"), &pool, 0);
      return text(
          call(route_.find("cuMemPoolTrimTo"), pool, static_cast<std::size_t>(number_in(words))));
    };
    verbs_["synchronise"] = [this](Words&) {
      return text(call(route_.find("cuCtxSynchronize"), static_cast<void*>(nullptr)));
    };
  }

  void declare_threads() {
    // race THREADS ROUNDS BYTES: each thread allocates until it is refused, frees half, and so on.
    verbs_["race"] = [this](Words& words) {
      return start_race(words, "cuMemAlloc_v2", "cuMemFree_v2");
    };
    verbs_["race_async"] = [this](Words& words) {
      return start_race(words, "cuMemAllocAsync", "cuMemFreeAsync");
    };
    // time_pairs COUNT LIVE: nanoseconds for an allocation and its release, beside LIVE others; of
    // nine rounds the one that was least disturbed.
    verbs_["time_pairs"] = [this](Words& words) {
      const Word count = number_in(words);
      const Any alloc = route_.find("cuMemAlloc_v2");
      const Any free = route_.find("cuMemFree_v2");
      Word pointer = 0;
      for (Word live = number_in(words); live > 0; --live)
        (void)call(alloc, &pointer, std::size_t{512});
      std::vector<double> rounds;
      for (int round = 0; round < 9; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (Word i = 0; i < count; ++i) {
          (void)call(alloc, &pointer, std::size_t{2} << 20U);
          (void)call(free, pointer);
        }
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - start;
        rounds.push_back(took.count() / static_cast<double>(count));
      }
      return std::to_string(*std::min_element(rounds.begin(), rounds.end()));
    };
    verbs_["fork"] = [](Words&) {  // What a child without exec sees.
      return std::to_string(::fork() == 0 ? ::getpid() : 0);
    };
    verbs_["become"] = [](Words&) -> std::string {  // The same program again; it reads "more".
      (void)!::freopen("more", "r", stdin);
      ::execl("/proc/self/exe", "cuda_caller", "dlsym", nullptr);
      return "not replaced";
    };
    verbs_["die"] = [](Words&) -> std::string { ::_exit(3); };
  }

  std::string start_race(Words& words, const char* alloc, const char* free) {
    const Word count = number_in(words);
    const Word rounds = number_in(words);
    const Word bytes = number_in(words);
    void* context = nullptr;
    (void)call(route_.find("cuCtxGetCurrent"), &context);
    std::vector<std::thread> threads;
    for (Word i = 0; i < count; ++i) {
      threads.emplace_back([=, this] {
        (void)call(route_.find("cuCtxSetCurrent"), context);
        race(route_.find(alloc), route_.find(free), rounds, bytes + i * 4096);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return text(0);
  }

  // The stream, which the functions that know none do not look at, is the default one.
  static void race(Any alloc, Any free, Word rounds, Word bytes) {
    std::vector<Word> held;
    for (Word round = 0; round < rounds; ++round) {
      for (Word pointer = 0; call(alloc, &pointer, static_cast<std::size_t>(bytes),
                                  static_cast<void*>(nullptr)) == 0;) {
        held.push_back(pointer);
      }
      const std::size_t kept = round + 1 == rounds ? 0 : held.size() / 2;
      for (; held.size() > kept; held.pop_back()) {
        (void)call(free, held.back(), static_cast<void*>(nullptr));
      }
    }
  }

  static constexpr Word kUntouched = 0x5a5a5a5a;
  Route route_;
  std::map<std::string, std::function<std::string(Words&)>> verbs_;
  std::map<std::string, Word> pointers_;
  std::map<std::string, void*> contexts_;
  std::map<std::string, void*> arrays_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 64;
  Caller(arguments[1]).run();
  return 0;
}
