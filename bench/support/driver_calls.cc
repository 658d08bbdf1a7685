// SPDX-License-Identifier: Apache-2.0
// Calls of the CUDA driver and starts of programs that make some, timed: what bench/guard.sh runs
// with the guard and without it. Comes to the driver by dlsym; DRIVER names another one than
// libcuda.so.1. Prints one number.
// usage: bench_driver_calls pairs THREADS LIVE PROCESSES: ns for an allocation and its release,
//          all threads taken together, beside LIVE others and with so many processes in the lease
//        bench_driver_calls shuffled LIVE: ns for the release of one of so many small allocations,
//          taken at random, and a new one
//        bench_driver_calls fill LIVE: us that one call in 10 000 exceeds, while so many small
//          allocations are made
//        bench_driver_calls async: ns for an allocation from the default pool and its release
//        bench_driver_calls unmap LIVE: us to unmap one of so many mappings
//        bench_driver_calls sync POOLS: us to synchronise a stream, with so many pools
//        bench_driver_calls launches: ns for a launch of a kernel
//        bench_driver_calls starts PROCESSES WORD: ms until so many, started at once with that
//          word, have ended
//        bench_driver_calls once: allocates once
//        bench_driver_calls nothing: ends at once
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "layouts.h"

namespace {

constexpr int kRounds = 9;
constexpr int kPairs = 80'000;
constexpr int kLaunches = 400'000;

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

[[noreturn]] void fail(const char* what) {
  (void)std::fprintf(stderr, "bench_driver_calls: %s\n", what);
  std::exit(1);
}

class Cuda {
 public:
  Cuda() {
    if (library_ == nullptr) fail("no libcuda.so.1");
    check(function<int(unsigned int)>("cuInit")(0));
    check(function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, 0));
    enter();
  }
  /// The calling thread makes its calls in the context.
  void enter() { check(function<int(void*)>("cuCtxSetCurrent")(context_)); }

  std::uint64_t allocate(std::size_t bytes) {
    std::uint64_t pointer = 0;
    check(allocate_(&pointer, bytes));
    return pointer;
  }
  void free(std::uint64_t pointer) { check(free_(pointer)); }
  /// Of the driver, by its name.
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    check(function<int(Arguments...)>(name)(arguments...));
  }
  template <class Type>
  Type* function(const char* name) {
    void* found = ::dlsym(library_, name);
    if (found == nullptr) fail(name);
    return reinterpret_cast<Type*>(found);
  }
  static void check(int result) {
    if (result != 0) fail("a call of the driver failed");
  }
  void launch() { check(launch_(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)); }

 private:
  using Launch = int(void*, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                     unsigned int, unsigned int, void*, void**, void**);

  static void* open() {
    const char* driver = std::getenv("DRIVER");
    return ::dlopen(driver == nullptr ? "libcuda.so.1" : driver, RTLD_NOW);
  }

  void* library_ = open();
  void* context_ = nullptr;
  int (*allocate_)(std::uint64_t*,
                   std::size_t) = function<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
  int (*free_)(std::uint64_t) = function<int(std::uint64_t)>("cuMemFree_v2");
  Launch* launch_ = function<Launch>("cuLaunchKernel");
};

void allocate_and_free(Cuda& cuda, int count) {
  for (int i = 0; i < count; ++i) cuda.free(cuda.allocate(std::size_t{2} << 20U));
}

double time_pairs(Cuda& cuda, int threads) {
  const int each = kPairs / threads;
  std::atomic<int> ready = 0;
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back([&] {
      cuda.enter();
      ++ready;
      ready.notify_all();
      for (int seen = ready; seen < threads; seen = ready) ready.wait(seen);
      allocate_and_free(cuda, each);
    });
  }
  for (int seen = ready; seen < threads - 1; seen = ready) ready.wait(seen);
  const auto start = Clock::now();
  ++ready;
  ready.notify_all();
  allocate_and_free(cuda, each);
  for (std::thread& other : others) other.join();
  return nanoseconds_since(start) / (each * threads);
}

/// Other processes that have a context, until the descriptor that is returned is closed.
int have_others(int count) {
  int made[2];
  int over[2];
  if (::pipe(made) != 0 || ::pipe(over) != 0) fail("no pipe");
  for (int i = 0; i < count; ++i) {
    if (::fork() != 0) continue;
    const Cuda cuda;
    char byte = 'x';
    ::close(over[1]);
    (void)!::write(made[1], &byte, 1);
    (void)!::read(over[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  for (int i = 0; i < count; ++i) {
    if (::read(made[0], &byte, 1) != 1) fail("a process has no context");
  }
  return over[1];
}

std::vector<double> rounds_of(auto measure) {
  std::vector<double> rounds(kRounds);
  for (double& round : rounds) round = measure();
  std::ranges::sort(rounds);
  return rounds;
}

/// The one that was least disturbed.
double least_of_rounds(auto measure) {
  return rounds_of(measure).front();
}

double time_pairs(int threads, int live, int processes) {
  const int others = have_others(processes - 1);
  Cuda cuda;
  for (int i = 0; i < live; ++i) (void)cuda.allocate(512);
  const std::vector<double> rounds = rounds_of([&] { return time_pairs(cuda, threads); });
  // Threads are in one another's way least where something else keeps them from running at once.
  const double result = threads == 1 ? rounds.front() : rounds[kRounds / 2];
  ::close(others);
  while (::wait(nullptr) > 0) continue;
  return result;
}

double time_shuffled(int live) {
  Cuda cuda;
  std::vector<std::uint64_t> pointers(static_cast<std::size_t>(live));
  for (std::uint64_t& pointer : pointers) pointer = cuda.allocate(512);
  std::mt19937_64 random(1);  // The same for both: which is freed when, and what memory that costs.
  return least_of_rounds([&] {
    const auto start = Clock::now();
    for (int i = 0; i < kPairs; ++i) {
      std::uint64_t& pointer = pointers[random() % pointers.size()];
      cuda.free(pointer);
      pointer = cuda.allocate(512);
    }
    return nanoseconds_since(start) / kPairs;
  });
}

double time_fill(int live) {
  Cuda cuda;
  std::vector<double> times(static_cast<std::size_t>(live));
  for (double& time : times) {
    const auto start = Clock::now();
    (void)cuda.allocate(512);
    time = nanoseconds_since(start);
  }
  std::ranges::sort(times);
  return times[times.size() - times.size() / 10'000 - 1] / 1000;
}

double time_async() {
  Cuda cuda;
  void* const stream = nullptr;
  auto* const allocate = cuda.function<int(std::uint64_t*, std::size_t, void*)>("cuMemAllocAsync");
  auto* const free = cuda.function<int(std::uint64_t, void*)>("cuMemFreeAsync");
  return least_of_rounds([&] {
    const auto start = Clock::now();
    for (int i = 0; i < kPairs; ++i) {
      std::uint64_t pointer = 0;
      Cuda::check(allocate(&pointer, std::size_t{2} << 20U, stream));
      Cuda::check(free(pointer, stream));
    }
    return nanoseconds_since(start) / kPairs;
  });
}

// One handle, mapped so many times: it takes the device no more than once.
double time_unmap(int live) {
  constexpr std::size_t kPage = std::size_t{2} << 20U;
  const auto count = static_cast<std::size_t>(std::max(live, 1));
  Cuda cuda;
  const Properties properties;
  std::uint64_t handle = 0;
  std::uint64_t address = 0;
  cuda.call("cuMemCreate", &handle, kPage, &properties, 0ULL);
  cuda.call("cuMemAddressReserve", &address, count * kPage, std::size_t{0}, 0ULL, 0ULL);
  for (std::size_t i = 0; i < count; ++i)
    cuda.call("cuMemMap", address + i * kPage, kPage, std::size_t{0}, handle, 0ULL);
  std::vector<double> times;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::uint64_t which = address + ((i * 7919) % count) * kPage;
    const auto start = Clock::now();
    cuda.call("cuMemUnmap", which, kPage);
    times.push_back(nanoseconds_since(start) / 1000);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// In each something was allocated and is free again: a synchronisation may give that back.
double time_sync(int pools) {
  Cuda cuda;
  void* const stream = nullptr;
  const Pool properties;
  for (int i = 0; i < pools; ++i) {
    void* pool = nullptr;
    std::uint64_t pointer = 0;
    cuda.call("cuMemPoolCreate", &pool, &properties);
    cuda.call("cuMemAllocFromPoolAsync", &pointer, std::size_t{1} << 20U, pool, stream);
    cuda.call("cuMemFreeAsync", pointer, stream);
  }
  auto* const synchronise = cuda.function<int(void*)>("cuStreamSynchronize");
  return least_of_rounds([&] {
    constexpr int kTimes = 1000;
    const auto start = Clock::now();
    for (int i = 0; i < kTimes; ++i) Cuda::check(synchronise(stream));
    return nanoseconds_since(start) / 1000 / kTimes;
  });
}

double time_launches() {
  Cuda cuda;
  return least_of_rounds([&] {
    const auto start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) cuda.launch();
    return nanoseconds_since(start) / kLaunches;
  });
}

double time_starts(char* program, int count, char* word) {
  char* arguments[] = {program, word, nullptr};
  return least_of_rounds([&] {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) {
      pid_t pid = 0;
      if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0)
        fail("cannot start a process");
    }
    for (int i = 0; i < count; ++i) {
      int status = 0;
      if (::wait(&status) < 0 || status != 0) fail("a process failed");
    }
    return nanoseconds_since(start) / 1e6;
  });
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const auto number = [&](int at) {
    return at < count ? static_cast<int>(std::strtol(words[at], nullptr, 10)) : 1;
  };
  double result = 0;
  if (what == "pairs") {
    result = time_pairs(number(2), number(3), number(4));
  } else if (what == "shuffled") {
    result = time_shuffled(number(2));
  } else if (what == "fill") {
    result = time_fill(number(2));
  } else if (what == "async") {
    result = time_async();
  } else if (what == "unmap") {
    result = time_unmap(number(2));
  } else if (what == "sync") {
    result = time_sync(number(2));
  } else if (what == "launches") {
    result = time_launches();
  } else if (what == "starts" && count == 4) {
    result = time_starts(words[0], number(2), words[3]);
  } else if (what == "once") {
    Cuda cuda;
    cuda.free(cuda.allocate(std::size_t{2} << 20U));
    return 0;
  } else {
    return what == "nothing" ? 0 : 64;
  }
  std::printf("%g\n", result);
  return 0;
}
