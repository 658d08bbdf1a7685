// SPDX-License-Identifier: Apache-2.0
#include "guard/preload/driver.h"

#include <atomic>
#include <type_traits>

#include "abi/cuda_names.h"
#include "guard/environment.h"
#include "guard/preload/nvml.h"
#include "guard/preload/stand_in.h"
#include "guard/process.h"
#include "guard/side.h"
#include "guard/text.h"

// Note [The real driver]
//
// Programs come to the driver by linking, by dlsym, and by cuGetProcAddress. Whichever way it is,
// the real lookup is made first, and only an address that lies in the driver and belongs to one of
// our functions is replaced. So a function that a driver lacks stays lacking, and each version of a
// function is told from the others without looking at names.
//
// cuGetProcAddress may give other addresses than those that are exported. The first time that it
// gives one which is not known, for a name that is, the driver is asked what it gives for each of
// our functions, by the version since which the name means that one and by each flag. An address
// that is not known after that is of a version that is not known here, and is passed through.
//
// A driver in another namespace of the dynamic linker has functions of its own at other addresses,
// and so have we for it: the same ones, called in a way that says for which driver.

namespace berth::guard {

namespace {

struct Named {
  const char* symbol;
  const char* name;    // Null: only called.
  int since;           // The CUDA version since which that name means this symbol.
  void* ours[kSides];  // For calls of each driver.
};

// Our function, as one calls it who wants the driver of another namespace.
template <auto kFunction>
struct OnTheOtherSide;
template <class... Parameters, CUresult (*kFunction)(Parameters...)>
struct OnTheOtherSide<kFunction> {
  static CUresult call(Parameters... parameters) {
    const Side before = side;
    side = Side::kOther;
    const CUresult result = kFunction(parameters...);
    side = before;
    return result;
  }
};

const Named kFunctions[] = {
#define HOOK(symbol)                    \
  {#symbol,                             \
   symbol##_name.name,                  \
   symbol##_name.since,                 \
   {reinterpret_cast<void*>(&(symbol)), \
    reinterpret_cast<void*>(&OnTheOtherSide<&(symbol)>::call)}},
#define CALLED(symbol) {#symbol, nullptr, 0, {nullptr, nullptr}},
#include "guard/preload/hooks.def"
};
constexpr auto kCount = static_cast<std::size_t>(Function::kCount);

std::atomic<void*> real[kSides][kCount];
// What cuGetProcAddress gives for it with each flag, where that is no export's address.
constexpr cuuint64_t kFlags = 3;
std::atomic<void*> given[kSides][kCount][kFlags];
std::atomic<const void*> bound[kSides];  // The dynamic section of the driver that `real` is of.

constexpr std::size_t index_of(Side side) {
  return static_cast<std::size_t>(side);
}

// Two threads may do this at once; they write the same.
void bind(Side side, const Object& driver) {
  std::atomic<const void*>& before = bound[index_of(side)];
  if (before.load(std::memory_order_acquire) == driver.dynamic) return;
  for (std::size_t i = 0; i < kCount; ++i)
    real[index_of(side)][i].store(symbol_in(driver, kFunctions[i].symbol));
  before.store(driver.dynamic, std::memory_order_release);
}

// A driver in another namespace: one, and only if there is none in the program's own. What a
// process holds is kept once.
bool bind_other(const Object& driver) {
  static Mutex mutex;
  const std::atomic<const void*>& before = bound[index_of(Side::kOther)];
  if (before.load(std::memory_order_acquire) == driver.dynamic) return true;
  if (object_named("libcuda.so").found()) return false;
  const Lock lock(mutex);
  if (before.load() == nullptr) {
    bind(Side::kOther, driver);
    counted_side.store(Side::kOther);
  }
  return before.load() == driver.dynamic;
}

bool is_given(Side which, std::size_t function, const void* address) {
  for (const std::atomic<void*>& other : given[index_of(which)][function]) {
    if (other.load(std::memory_order_relaxed) == address) return true;
  }
  return false;
}

void* in_place_of(Side which, void* address) {
  if (address == nullptr) return nullptr;
  for (std::size_t i = 0; i < kCount; ++i) {
    void* const ours = kFunctions[i].ours[index_of(which)];
    if (ours != nullptr && (real[index_of(which)][i].load(std::memory_order_relaxed) == address ||
                            is_given(which, i, address)))
      return ours;
  }
  return address;
}

// Of the functions of one name and version it is the form for this kind of default stream.
bool is_meant(std::size_t function, cuuint64_t flags) {
  constexpr cuuint64_t kOwnStreams = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
  const Named& asked = kFunctions[function];
  const bool own = ends_with(asked.symbol, "_ptsz");
  if (flags != kOwnStreams || own) return own == (flags == kOwnStreams);
  for (const Named& other : kFunctions) {
    if (other.name != nullptr && equal(other.name, asked.name) && other.since == asked.since &&
        ends_with(other.symbol, "_ptsz"))
      return false;
  }
  return true;
}

void* ask(const Named& function, cuuint64_t flags) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  const CUresult result =
      REAL(cuGetProcAddress_v2, function.name, &found, function.since, flags, &status);
  if (result == CUDA_ERROR_NOT_SUPPORTED)
    (void)REAL(cuGetProcAddress, function.name, &found, function.since, flags);
  return found;
}

bool is_ours(Side which, const void* address) {
  for (const Named& function : kFunctions) {
    if (address != nullptr && function.ours[index_of(which)] == address) return true;
  }
  return false;
}

}  // namespace

bool is_hooked(const char* symbol) {
  if (symbol[0] != 'c' || symbol[1] != 'u') return false;
  for (const Named& function : kFunctions) {
    if (function.name != nullptr && equal(function.symbol, symbol)) return true;
  }
  return false;
}

bool is_hooked_name(const char* name) {
  for (const Named& function : kFunctions) {
    if (function.name != nullptr && equal(function.name, name)) return true;
  }
  return false;
}

bool is_driver(const Object& object) {
  return is_named(object, "libcuda.so");
}

// A driver that was unloaded and loaded again elsewhere takes the place of the first.
void bind(const Object& driver) {
  bind(Side::kOwn, driver);
}

Object loaded_driver() {
  const Object driver = object_named("libcuda.so");
  if (driver.found()) bind(driver);
  return driver;
}

void* real_address(Function function) {
  const std::size_t which = index_of(side);
  if (bound[which].load(std::memory_order_acquire) == nullptr && !loaded_driver().found())
    return function_after_ours(kFunctions[static_cast<std::size_t>(function)].symbol);
  return real[which][static_cast<std::size_t>(function)].load(std::memory_order_relaxed);
}

bool is_ours(const void* address) {
  return is_ours(side, address);
}

bool is_for_another_namespace(const void* address) {
  return is_ours(Side::kOther, address);
}

void* in_place_of(void* address) {
  return in_place_of(side, address);
}

// Two threads may do this at once; they write the same.
void ask_for_addresses() {
  static std::atomic<bool> asked[kSides];
  if (asked[index_of(side)].load(std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < kCount; ++i) {
    for (cuuint64_t flags = 0; flags < kFlags; ++flags) {
      if (kFunctions[i].name == nullptr || !is_meant(i, flags)) continue;
      void* const found = ask(kFunctions[i], flags);
      if (in_place_of(side, found) == found) given[index_of(side)][i][flags].store(found);
    }
  }
  asked[index_of(side)].store(true, std::memory_order_release);
}

extern "C" {

[[gnu::visibility("default")]] void* berth_guard_stand_in(const link_map* library, void* found) {
  if (is_disabled()) return found;
  const Object object = object_of(*library);
  const bool own = object_at(object.dynamic).found();
  if (is_nvml(object)) return in_place_of_nvml(own ? Side::kOwn : Side::kOther, object, found);
  if (own) {
    bind(Side::kOwn, object);
  } else if (!bind_other(object)) {
    (void)Process::not_counted();
    return found;
  }
  return in_place_of(own ? Side::kOwn : Side::kOther, found);
}
static_assert(std::is_same_v<decltype(berth_guard_stand_in), StandIn>);

}  // extern "C"
}  // namespace berth::guard
