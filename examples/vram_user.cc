// SPDX-License-Identifier: Apache-2.0
// A small program that uses GPU memory through the CUDA driver, simulated or real: it allocates in
// steps, writes a pattern and checks it, holds, checks again and frees. It says each phase on
// stdout. It stands alone: the driver is loaded when it runs, and nothing else of Berth is needed.
//
// Exit: 0 done; 1 the driver refused (its code, in words, on stderr); 2 the memory held something
// else than was written; 64 wrong usage; 69 no driver. Signals act as they do by default.
#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum Exit { kRefused = 1, kCorrupt = 2, kUsage = 64, kNoDriver = 69 };
constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kPageBytes = 2 * kMiB;     // Each of them is written to.
constexpr std::uint64_t kStripeBytes = 4U << 10U;  // So much of each, unless all of it.
constexpr std::uint64_t kGrowthBytes = 16 * kMiB;  // A step of one that grows.
constexpr int kActiveMs = 10;
constexpr int kPeriodMs = 50;
constexpr std::uint64_t kBusyBytes = 64 * kMiB;

struct Options {
  std::uint64_t bytes = 0;
  std::uint64_t step = 0;
  std::uint64_t rate = 0;  // A second; 0: as fast as it goes.
  int hold_ms = 0;
  int device = 0;
  bool verify = false;
  bool verify_all = false;
  bool active = false;
  int busy = -1;  // Percent; -1: whatever comes of the rest.
};

constexpr const char* kHelp =
    "usage: vram_user --bytes SIZE [--step SIZE] [--rate SIZE] [--hold TIME] [--active]\n"
    "                 [--busy PERCENT] [--verify[=full]] [--device N] [--quiet]\n"
    "Allocates SIZE of GPU memory in steps, writes and checks a pattern, holds it, frees it.\n"
    "With --rate it takes that much in a second and no more; with --active it uses the GPU while "
    "it\n"
    "holds, where it else does nothing. With --busy it computes for that much of the time.\n"
    "SIZE: 512MiB, 10GiB, 8G (binary); TIME: 20, 20s, 500ms, 5m, forever.\n";

bool quiet = false;

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  if (quiet) return;
  std::va_list arguments;
  va_start(arguments, format);
  std::printf("vram_user: ");
  std::vprintf(format, arguments);
  std::printf("\n");
  std::fflush(stdout);
  va_end(arguments);
}

[[noreturn, gnu::format(printf, 2, 3)]] void fail(int code, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "vram_user: ");
  std::vfprintf(stderr, format, arguments);
  std::fprintf(stderr, "\n");
  va_end(arguments);
  std::exit(code);
}

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 0x1p20;
}

// A number and what follows it.
struct Quantity {
  double number;
  std::string_view unit;
};

Quantity parse_quantity(const char* option, const char* text) {
  char* unit = nullptr;
  const double number = std::strtod(text, &unit);
  if (unit == text || !std::isfinite(number) || number < 0)
    fail(kUsage, "%s: '%s' is not a number and a unit", option, text);
  return {number, unit};
}

std::uint64_t parse_size(const char* option, const char* text) {
  const auto [number, unit] = parse_quantity(option, text);
  const std::string_view units = "KMGT";
  double bytes = number;
  if (!unit.empty()) {
    const std::size_t power = units.find(unit.front());
    const std::string_view rest = unit.substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "iB"))
      fail(kUsage, "%s: '%s' is not a size such as 512MiB or 8G", option, text);
    bytes = number * std::pow(1024.0, static_cast<double>(power + 1));
  }
  if (bytes > 0x1p60) fail(kUsage, "%s: '%s' is too large", option, text);
  return static_cast<std::uint64_t>(bytes);
}

// Milliseconds, as poll() takes them: -1 is for ever.
int parse_time(const char* option, const char* text) {
  if (std::strcmp(text, "forever") == 0) return -1;
  const auto [number, unit] = parse_quantity(option, text);
  const double factor = unit == "ms"                  ? 1
                        : unit.empty() || unit == "s" ? 1e3
                        : unit == "m"                 ? 6e4
                                                      : 0;
  if (factor == 0) fail(kUsage, "%s: '%s' is not a time such as 20s, 500ms or 5m", option, text);
  return static_cast<int>(std::min(number * factor, 2e9));
}

int parse_percent(const char* option, const char* text) {
  const auto [number, unit] = parse_quantity(option, text);
  if (!(unit.empty() || unit == "%") || number > 100)
    fail(kUsage, "%s: '%s' is not a share such as 80%%", option, text);
  return static_cast<int>(number);
}

// "--name VALUE" and "--name=VALUE"; moves `index` past what it took.
const char* value_of(int count, char** arguments, int& index, const char* name) {
  const char* argument = arguments[index];
  const std::size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0) return nullptr;
  if (argument[length] == '=') return argument + length + 1;
  if (argument[length] != '\0') return nullptr;
  if (index + 1 == count) fail(kUsage, "%s needs a value", name);
  return arguments[++index];
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (argument == "--quiet") {
      quiet = true;
    } else if (argument == "--active") {
      options.active = true;
    } else if (argument == "--verify" || argument == "--verify=full") {
      options.verify = true;
      options.verify_all = argument != "--verify";
    } else if (const char* bytes = value_of(count, arguments, i, "--bytes")) {
      options.bytes = parse_size("--bytes", bytes);
    } else if (const char* step = value_of(count, arguments, i, "--step")) {
      options.step = parse_size("--step", step);
    } else if (const char* rate = value_of(count, arguments, i, "--rate")) {
      options.rate = parse_size("--rate", rate);
    } else if (const char* hold = value_of(count, arguments, i, "--hold")) {
      options.hold_ms = parse_time("--hold", hold);
    } else if (const char* busy = value_of(count, arguments, i, "--busy")) {
      options.busy = parse_percent("--busy", busy);
    } else if (const char* device = value_of(count, arguments, i, "--device")) {
      options.device = static_cast<int>(parse_quantity("--device", device).number);
    } else {
      fail(kUsage, "'%s' is no option of vram_user (try --help)", arguments[i]);
    }
  }
  // What computes writes to the memory.
  if (options.busy >= 0 && options.verify) fail(kUsage, "--busy and --verify exclude each other");
  if (options.bytes == 0) fail(kUsage, "--bytes is missing or 0 (try --help)");
  if (options.step == 0) options.step = options.rate > 0 ? kGrowthBytes : options.bytes;
  return options;
}

// A function of libcuda.so.1; it takes its address from there when it is made.
template <class... Parameters>
struct Function {
  Function(void* library, const char* name) {
    void* found = ::dlsym(library, name);
    if (found == nullptr) fail(kNoDriver, "libcuda.so.1 has no %s", name);
    std::memcpy(static_cast<void*>(&address), static_cast<void*>(&found), sizeof(address));
  }
  int operator()(Parameters... parameters) const { return address(parameters...); }
  int (*address)(Parameters...);
};

struct Driver {
  void* library;
  Function<unsigned int> cuInit{library, "cuInit"};
  Function<int*, int> cuDeviceGet{library, "cuDeviceGet"};
  Function<char*, int, int> cuDeviceGetName{library, "cuDeviceGetName"};
  Function<void**, int> cuDevicePrimaryCtxRetain{library, "cuDevicePrimaryCtxRetain"};
  Function<int> cuDevicePrimaryCtxRelease_v2{library, "cuDevicePrimaryCtxRelease_v2"};
  Function<void*> cuCtxSetCurrent{library, "cuCtxSetCurrent"};
  Function<std::size_t*, std::size_t*> cuMemGetInfo_v2{library, "cuMemGetInfo_v2"};
  Function<unsigned long long*, std::size_t> cuMemAlloc_v2{library, "cuMemAlloc_v2"};
  Function<unsigned long long> cuMemFree_v2{library, "cuMemFree_v2"};
  Function<unsigned long long, const void*, std::size_t> cuMemcpyHtoD_v2{library,
                                                                         "cuMemcpyHtoD_v2"};
  Function<void*, unsigned long long, std::size_t> cuMemcpyDtoH_v2{library, "cuMemcpyDtoH_v2"};
  Function<unsigned long long, unsigned char, std::size_t> cuMemsetD8_v2{library, "cuMemsetD8_v2"};
  Function<> cuCtxSynchronize{library, "cuCtxSynchronize"};
  Function<int, const char**> cuGetErrorName{library, "cuGetErrorName"};
  Function<int, const char**> cuGetErrorString{library, "cuGetErrorString"};
};

Driver load_driver() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(kNoDriver, "no CUDA driver: %s", ::dlerror());
  return Driver{library};
}

void check(const Driver& driver, int result, const std::string& what) {
  if (result == 0) return;
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName(result, &name) != 0 || name == nullptr) name = "an unknown result";
  if (driver.cuGetErrorString(result, &text) != 0 || text == nullptr) text = "no explanation";
  fail(kRefused, "%s: %s (%d): %s", what.c_str(), name, result, text);
}

struct Block {
  unsigned long long at;
  std::uint64_t bytes;
};

// Derived from its address, so that data which turns up in another place is found out.
void make_pattern(unsigned long long at, std::uint64_t seed, std::vector<std::uint64_t>& words) {
  for (std::uint64_t& word : words) {
    std::uint64_t mixed = (at + seed) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 29U;
    word = mixed * 0xbf58476d1ce4e5b9U;
    at += sizeof(word);
  }
}

// visit(address, pattern) for the part of each 2 MiB of a block that is written and checked.
template <class Visit>
void for_each_stripe(const Block& block, bool all, std::uint64_t seed, Visit visit) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t from = 0; from < block.bytes; from += kPageBytes) {
    const std::uint64_t length =
        std::min(all ? kPageBytes : kStripeBytes, block.bytes - from) / sizeof(std::uint64_t);
    words.resize(length);
    make_pattern(block.at + from, seed, words);
    visit(block.at + from, words);
  }
}

void write_block(const Driver& driver, const Block& block, bool all, std::uint64_t seed) {
  for_each_stripe(block, all, seed, [&](unsigned long long at, const auto& words) {
    check(driver, driver.cuMemcpyHtoD_v2(at, words.data(), words.size() * 8), "writing");
  });
}

void check_block(const Driver& driver, const Block& block, bool all, std::uint64_t seed) {
  std::vector<std::uint64_t> found;
  for_each_stripe(block, all, seed, [&](unsigned long long at, const auto& words) {
    found.resize(words.size());
    check(driver, driver.cuMemcpyDtoH_v2(found.data(), at, words.size() * 8), "reading");
    if (found != words) fail(kCorrupt, "device memory at %#llx is not what was written", at);
  });
}

void check_all(const Driver& driver, const std::vector<Block>& blocks, const Options& options) {
  if (!options.verify) return;
  const auto seed = static_cast<std::uint64_t>(::getpid());
  for (const Block& block : blocks) check_block(driver, block, options.verify_all, seed);
  say("the pattern is what was written");
}

using Clock = std::chrono::steady_clock;

// Until that much may be had at this rate.
void wait_for_turn(const Options& options, Clock::time_point start, std::uint64_t bytes) {
  if (options.rate == 0) return;
  const double due = static_cast<double>(bytes) / static_cast<double>(options.rate);
  for (;;) {
    const std::chrono::duration<double> passed = Clock::now() - start;
    if (passed.count() >= due) return;
    (void)::poll(nullptr, 0, static_cast<int>(std::ceil((due - passed.count()) * 1e3)));
  }
}

std::vector<Block> allocate(const Driver& driver, const Options& options) {
  std::vector<Block> blocks;
  const Clock::time_point start = Clock::now();
  for (std::uint64_t had = 0; had < options.bytes;) {
    wait_for_turn(options, start, had);
    Block block{.at = 0, .bytes = std::min(options.step, options.bytes - had)};
    char what[128];
    (void)std::snprintf(what, sizeof(what), "allocating %.0f MiB beyond %.0f MiB", mib(block.bytes),
                        mib(had));
    check(driver, driver.cuMemAlloc_v2(&block.at, block.bytes), what);
    if (options.verify)
      write_block(driver, block, options.verify_all, static_cast<std::uint64_t>(::getpid()));
    blocks.push_back(block);
    had += block.bytes;
  }
  say("allocated %.0f MiB in %zu steps", mib(options.bytes), blocks.size());
  return blocks;
}

// Reads a word again and again, and says how long it was kept from it.
void be_active(const Driver& driver, const Block& block, Clock::time_point until) {
  for (Clock::time_point last = Clock::now(); last < until; last = Clock::now()) {
    std::uint64_t word = 0;
    check(driver, driver.cuMemcpyDtoH_v2(&word, block.at, std::min<std::size_t>(8, block.bytes)),
          "using the memory");
    const std::chrono::duration<double> waited = Clock::now() - last;
    if (waited.count() >= 1) say("waited for the GPU for %.1f s", waited.count());
    (void)::poll(nullptr, 0, kActiveMs);
  }
}

// What the simulated driver takes for work: it computes nothing. Null: the driver is a real one.
using SimulatedLoad = int (*)(unsigned int percent, int device);
SimulatedLoad simulated_load(const Driver& driver) {
  SimulatedLoad load = nullptr;
  void* found = ::dlsym(driver.library, "berthSimulatedLoad");
  std::memcpy(static_cast<void*>(&load), static_cast<void*>(&found), sizeof(load));
  return load;
}

// Writes to the memory for that much of each period, and rests for the remainder.
void be_busy(const Driver& driver, const Options& options, const Block& block,
             Clock::time_point until) {
  const SimulatedLoad load = simulated_load(driver);
  const auto busy = std::chrono::milliseconds(kPeriodMs * options.busy / 100);
  for (Clock::time_point begin = Clock::now(); begin < until; begin = Clock::now()) {
    if (load != nullptr) {
      check(driver, load(static_cast<unsigned int>(options.busy), options.device), "computing");
    } else {
      while (Clock::now() - begin < busy) {
        check(driver, driver.cuMemsetD8_v2(block.at, 0, std::min(block.bytes, kBusyBytes)),
              "computing");
        check(driver, driver.cuCtxSynchronize(), "computing");
      }
    }
    const auto rest = std::chrono::milliseconds(kPeriodMs) - (Clock::now() - begin);
    const auto rest_ms = std::chrono::duration_cast<std::chrono::milliseconds>(rest).count();
    (void)::poll(nullptr, 0, static_cast<int>(std::max<std::int64_t>(rest_ms, 0)));
  }
  if (load != nullptr) check(driver, load(0, options.device), "computing");
}

void hold(const Driver& driver, const Options& options, const Block& block) {
  const int time_ms = options.hold_ms;
  if (time_ms == 0) return;
  time_ms > 0 ? say("holding for %g s", time_ms / 1e3) : say("holding");
  const auto until =
      time_ms > 0 ? Clock::now() + std::chrono::milliseconds(time_ms) : Clock::time_point::max();
  if (options.busy >= 0) {
    be_busy(driver, options, block, until);
  } else if (options.active) {
    be_active(driver, block, until);
  } else {
    (void)::poll(nullptr, 0, time_ms);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  const Driver driver = load_driver();
  check(driver, driver.cuInit(0), "starting the driver");
  int device = 0;
  check(driver, driver.cuDeviceGet(&device, options.device),
        "device " + std::to_string(options.device));
  char name[128] = "";
  check(driver, driver.cuDeviceGetName(name, sizeof(name), device), "the device's name");
  void* context = nullptr;
  check(driver, driver.cuDevicePrimaryCtxRetain(&context, device), "making a context");
  check(driver, driver.cuCtxSetCurrent(context), "using the context");
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(driver, driver.cuMemGetInfo_v2(&free_bytes, &total_bytes), "asking for free memory");
  say("pid %d on device %d, %s: %.0f of %.0f MiB free", ::getpid(), options.device, name,
      mib(free_bytes), mib(total_bytes));

  const std::vector<Block> blocks = allocate(driver, options);
  check_all(driver, blocks, options);
  hold(driver, options, blocks.front());
  if (options.hold_ms != 0) check_all(driver, blocks, options);
  for (const Block& block : blocks) check(driver, driver.cuMemFree_v2(block.at), "freeing");
  check(driver, driver.cuDevicePrimaryCtxRelease_v2(device), "releasing the context");
  say("freed");
  return 0;
}
