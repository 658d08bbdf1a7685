// SPDX-License-Identifier: Apache-2.0
// checked() looks into an optional that other state says is set: a connection after it was opened,
// a handle once it was given. Where that is not so we were wrong, and the process stops
// (base/check.h).
#pragma once

#include <optional>

#include "base/check.h"

namespace berth {

template <class Value>
Value& checked(std::optional<Value>& value) {
  CHECK(value.has_value());
  return *value;
}

template <class Value>
const Value& checked(const std::optional<Value>& value) {
  CHECK(value.has_value());
  return *value;
}

template <class Value>
void checked(const std::optional<Value>&&) = delete;  // It would be gone.

}  // namespace berth
