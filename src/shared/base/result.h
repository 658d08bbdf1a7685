// SPDX-License-Identifier: Apache-2.0
// Result<T> is a value or an Error: the return type of every function that can fail for a reason
// outside the program. It cannot be default-made, and dropping one is a compile error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace berth {

/// What a caller may act on. The text of an Error is for a person.
enum class Errc : std::uint8_t {
  kInvalid,      // The input is wrong and will stay wrong.
  kNotFound,     // Nothing has that name, id or path.
  kPermission,   // Not yours, or the system does not let us.
  kUnavailable,  // Nobody answers there, or the machine lacks it.
  kTimedOut,
  kIo,            // A read or write failed; the message names the file.
  kFull,          // A disk or a bounded table is full.
  kExhausted,     // The system gives us no more descriptors or memory.
  kCorrupt,       // What was read is not what was written.
  kVersion,       // The other side is newer or older than we can speak to.
  kConflict,      // Another one has it.
  kCannotCreate,  // A file or directory that is needed cannot be made, or is not safe to use.
};

struct Error {
  Errc code;
  std::string message;  // Names the things involved and, where there is one, the cure.
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& operator*() const& {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && {
    CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  const Error& error() const {
    CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// The value of a function that succeeds without one.
struct Unit {};
using Status = Result<Unit>;

}  // namespace berth

// TRY(name, expression): name is the value of the Result, or the function returns its Error.
#define TRY(name, expression)                            \
  auto name##_result = (expression);                     \
  if (!name##_result.ok()) return name##_result.error(); \
  auto name = *std::move(name##_result)

// TRY_STATUS(expression): the function returns the Error, if there is one.
#define TRY_STATUS(expression)                                                       \
  do {                                                                               \
    if (auto try_status = (expression); !try_status.ok()) return try_status.error(); \
  } while (false)
