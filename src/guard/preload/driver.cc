// SPDX-License-Identifier: Apache-2.0
#include "guard/preload/driver.h"

#include <atomic>

#include "guard/text.h"

// Note [The real driver]
//
// Programs come to the driver by linking, by dlsym, and by cuGetProcAddress. Whichever way it is,
// the real lookup is made first, and only an address that lies in the driver and belongs to one of
// our functions is replaced. So a function that a driver lacks stays lacking, and each version of a
// function is told from the others without looking at names.

namespace berth::guard {

extern "C" {
#define HOOK(symbol, name, since, parameters) CUresult symbol parameters;
#define CALLED(symbol, parameters)
#include "guard/preload/hooks.def"
#undef HOOK
#undef CALLED
}

namespace {

struct Named {
  const char* symbol;
  const char* name;  // Null: only called.
  void* ours;
};

const Named kFunctions[] = {
#define HOOK(symbol, name, since, parameters) {#symbol, #name, reinterpret_cast<void*>(&(symbol))},
#define CALLED(symbol, parameters) {#symbol, nullptr, nullptr},
#include "guard/preload/hooks.def"
#undef HOOK
#undef CALLED
};
constexpr auto kCount = static_cast<std::size_t>(Function::kCount);

std::atomic<void*> real[kCount];
std::atomic<std::uintptr_t> bound;  // Where the driver lies whose functions `real` holds.

}  // namespace

bool is_hooked(const char* symbol) {
  if (symbol[0] != 'c' || symbol[1] != 'u') return false;
  for (const Named& function : kFunctions) {
    if (function.ours != nullptr && equal(function.symbol, symbol)) return true;
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

// Two threads may do this at once; they write the same. A driver that was unloaded and loaded again
// elsewhere takes the place of the first.
void bind(const Object& driver) {
  if (bound.load(std::memory_order_acquire) == driver.low) return;
  for (std::size_t i = 0; i < kCount; ++i) real[i].store(symbol_in(driver, kFunctions[i].symbol));
  bound.store(driver.low, std::memory_order_release);
}

Object loaded_driver() {
  const Object driver = object_named("libcuda.so");
  if (driver.found()) bind(driver);
  return driver;
}

void* real_address(Function function) {
  if (bound.load(std::memory_order_acquire) == 0) (void)loaded_driver();
  return real[static_cast<std::size_t>(function)].load(std::memory_order_relaxed);
}

bool is_ours(const void* address) {
  for (const Named& function : kFunctions) {
    if (address != nullptr && function.ours == address) return true;
  }
  return false;
}

void* in_place_of(void* address) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (kFunctions[i].ours != nullptr && real[i].load(std::memory_order_relaxed) == address)
      return kFunctions[i].ours;
  }
  return address;
}

}  // namespace berth::guard
