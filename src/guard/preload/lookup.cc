// SPDX-License-Identifier: Apache-2.0
// dlsym and dlvsym, as the program calls them. All but our own few names go on to the C library's
// by a jump, so that it sees the program as its caller: what RTLD_NEXT means depends on that. Who
// looks for the C library's dlsym itself, by its version, is given ours. Any thread.

#include <atomic>

#include "guard/elf.h"
#include "guard/environment.h"
#include "guard/preload/driver.h"
#include "guard/preload/nvml.h"
#include "guard/text.h"

// Our dynamic section, as the linker calls it.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] const char _DYNAMIC;

// Defined below, in assembler.
extern "C" {
void* dlsym(void* handle, const char* name);
void* dlvsym(void* handle, const char* name, const char* version);
}

namespace berth::guard {
namespace {

using Dlsym = void* (*)(void* handle, const char* name);
using Dlvsym = void* (*)(void* handle, const char* name, const char* version);

std::atomic<void*> real_dlsym;
std::atomic<void*> real_dlvsym;

void* found_after_us(std::atomic<void*>& kept, const char* name) {
  void* found = kept.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = function_after_ours(name);
    kept.store(found, std::memory_order_release);
  }
  return found;
}

void* no_dlsym(void* /*handle*/, const char* /*name*/) {
  return nullptr;
}
void* no_dlvsym(void* /*handle*/, const char* /*name*/, const char* /*version*/) {
  return nullptr;
}

// The driver and what comes with it look one another up, and must find themselves.
bool is_in_the_driver(const void* caller) {
  const Object object = object_at(caller);
  return object.found() && is_of_the_driver(object);
}

// Ours, if it is one of the functions of this file.
void* lookup_of_ours(const char* name) {
  if (equal(name, "dlsym")) return reinterpret_cast<void*>(&::dlsym);
  if (equal(name, "dlvsym")) return reinterpret_cast<void*>(&::dlvsym);
  return nullptr;
}

// A library behind us that has a dlsym of its own passes on what it is asked to the next one: to be
// given ours would lead it in a circle.
bool answers_us(const void* caller) {
  for (const std::atomic<void*>* real : {&real_dlsym, &real_dlvsym}) {
    const void* const next = real->load(std::memory_order_acquire);
    if (next != nullptr && object_at(next).contains(caller)) return true;
  }
  return false;
}

// What the real lookup found, or what stands for it.
void* replace(void* found, const char* name) {
  if (found == nullptr) return nullptr;
  if (void* ours = lookup_of_ours(name); ours != nullptr) return ours;
  const Object object = object_at(found);
  if (!object.found() || is_for_another_namespace(found) || is_for_another_nvml(found))
    return found;
  if (object.contains(reinterpret_cast<const void*>(&replace))) {
    // We come before the driver in the global search; without us it would be the driver's, or
    // nothing.
    const Object driver = is_hooked_of_nvml(name) ? loaded_nvml() : loaded_driver();
    return driver.found() && symbol_in(driver, name) != nullptr ? found : nullptr;
  }
  if (is_nvml(object)) return in_place_of_nvml(Side::kOwn, object, found);
  if (!is_driver(object)) return found;
  bind(object);
  return in_place_of(found);
}

void* answer_dlsym(void* handle, const char* name) {
  return replace(reinterpret_cast<Dlsym>(real_dlsym.load())(handle, name), name);
}

void* answer_dlvsym(void* handle, const char* name, const char* version) {
  return replace(reinterpret_cast<Dlvsym>(real_dlvsym.load())(handle, name, version), name);
}

bool is_for_us(const char* name, const void* caller) {
  if (name == nullptr || is_disabled()) return false;
  if (lookup_of_ours(name) != nullptr) return !is_in_the_driver(caller) && !answers_us(caller);
  return (is_hooked(name) || is_hooked_of_nvml(name)) && !is_in_the_driver(caller);
}

}  // namespace

// Where a call goes on: to the real function, or to ours.
extern "C" {

[[gnu::used]] void* berth_guard_dlsym(const char* name, const void* caller) {
  void* next = found_after_us(real_dlsym, "dlsym");
  if (next == nullptr) return reinterpret_cast<void*>(&no_dlsym);
  return is_for_us(name, caller) ? reinterpret_cast<void*>(&answer_dlsym) : next;
}

[[gnu::used]] void* berth_guard_dlvsym(const char* name, const void* caller) {
  void* next = found_after_us(real_dlvsym, "dlvsym");
  if (next == nullptr) return reinterpret_cast<void*>(&no_dlvsym);
  return is_for_us(name, caller) ? reinterpret_cast<void*>(&answer_dlvsym) : next;
}

}  // extern "C"

void* function_after_ours(const char* symbol) {
  return symbol_after(&_DYNAMIC, symbol);
}

}  // namespace berth::guard

// The arguments are kept, the stack is as the caller left it, and the jump leaves the caller's
// return address in place.
#define JUMP_ON(function, decide)                \
  asm(".text\n"                                  \
      ".globl " function                         \
      "\n"                                       \
      ".type " function ", @function\n" function \
      ":\n"                                      \
      ".cfi_startproc\n"                         \
      "push %rdi\n"                              \
      ".cfi_adjust_cfa_offset 8\n"               \
      "push %rsi\n"                              \
      ".cfi_adjust_cfa_offset 8\n"               \
      "push %rdx\n"                              \
      ".cfi_adjust_cfa_offset 8\n"               \
      "mov %rsi, %rdi\n"                         \
      "mov 24(%rsp), %rsi\n"                     \
      "call " decide                             \
      "\n"                                       \
      "pop %rdx\n"                               \
      ".cfi_adjust_cfa_offset -8\n"              \
      "pop %rsi\n"                               \
      ".cfi_adjust_cfa_offset -8\n"              \
      "pop %rdi\n"                               \
      ".cfi_adjust_cfa_offset -8\n"              \
      "jmp *%rax\n"                              \
      ".cfi_endproc\n"                           \
      ".size " function ", .-" function "\n")

JUMP_ON("dlsym", "berth_guard_dlsym");
JUMP_ON("dlvsym", "berth_guard_dlvsym");
