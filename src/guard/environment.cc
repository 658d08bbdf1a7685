// SPDX-License-Identifier: Apache-2.0
#include "guard/environment.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/linux.h"
#include "guard/text.h"

extern "C" [[gnu::weak]] char** environ;

namespace berth::guard {
namespace {

struct Variables {
  char lease_directory[4096];
  char on_full[64];
  bool disabled;
};
constinit Variables variables = {};

enum class Read : std::uint32_t { kNotYet, kBegun, kDone };
constinit std::atomic<std::uint32_t> read = 0;

// Null where it is not set.
const char* variable(const char* name) {
  if (&environ == nullptr || environ == nullptr) return nullptr;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!starts_with(*at, name)) continue;
    const char* rest = *at;
    for (const char* letter = name; *letter != '\0'; ++letter) ++rest;
    if (*rest == '=') return rest + 1;
  }
  return nullptr;
}

template <std::size_t kRoom>
void copy(const char* name, char (&into)[kRoom]) {
  const char* value = variable(name);
  std::size_t length = 0;
  for (; value != nullptr && value[length] != '\0' && length + 1 < kRoom; ++length)
    into[length] = value[length];
  into[length] = '\0';
}

void read_all() {
  copy("BERTH_LEASE_DIR", variables.lease_directory);
  copy("BERTH_ON_FULL", variables.on_full);
  const char* disable = variable("BERTH_DISABLE");
  variables.disabled = disable != nullptr && *disable != '\0' && !equal(disable, "0");
}

// Libraries that are loaded before this one may call it before its constructor is called, and have
// threads by then. Nobody waits for ever: a child of fork may find it begun by a thread that it
// does not have.
const Variables& known() {
  constexpr auto kDone = static_cast<std::uint32_t>(Read::kDone);
  constexpr int kLooksMax = 1000;
  for (int looks = 0; looks < kLooksMax; ++looks) {
    std::uint32_t seen = read.load(std::memory_order_acquire);
    if (seen == kDone) return variables;
    if (seen == static_cast<std::uint32_t>(Read::kNotYet) &&
        read.compare_exchange_strong(seen, static_cast<std::uint32_t>(Read::kBegun))) {
      read_all();
      read.store(kDone, std::memory_order_release);
      return variables;
    }
    yield();
  }
  return variables;
}

}  // namespace

const char* lease_directory() {
  return known().lease_directory;
}

const char* on_full() {
  return known().on_full;
}

bool is_disabled() {
  return known().disabled;
}

void look_for_a_lease() {
  if (*known().lease_directory == '\0') read_all();
}

namespace {

// Once more: run-times of sanitizers call us before the C library has an environment.
[[gnu::constructor]] void read_at_load() {
  look_for_a_lease();
}

}  // namespace

}  // namespace berth::guard
