// SPDX-License-Identifier: Apache-2.0
#include "guard/environment.h"

#include "guard/text.h"

extern "C" [[gnu::weak]] char** environ;

namespace berth::guard {

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

bool is_switched_on(const char* name) {
  const char* value = variable(name);
  return value != nullptr && *value != '\0' && !equal(value, "0");
}

}  // namespace berth::guard
