// SPDX-License-Identifier: Apache-2.0
// present() looks into an optional that other state says is set: a connection after it was opened,
// a handle once it was told. Where that is not so we were wrong, and the process stops
// (base/check.h).
#pragma once

#include <optional>

#include "base/check.h"

namespace berth {

template <class Value>
Value& present(std::optional<Value>& value) {
  CHECK(value.has_value());
  return *value;
}

template <class Value>
const Value& present(const std::optional<Value>& value) {
  CHECK(value.has_value());
  return *value;
}

template <class Value>
void present(const std::optional<Value>&&) = delete;  // It would be gone.

}  // namespace berth
