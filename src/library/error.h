// SPDX-License-Identifier: Apache-2.0
// Failures of the C functions: status and last error, and the walls around them: no exception
// leaves one. Any thread; each has its own last error.
#pragma once

#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "berth/berth.h"

namespace berth::library {

/// Leaves the text for this thread and returns the status.
berth_status fail(berth_status status, std::string_view text);
berth_status fail(const Error& error);
const char* last_error();

/// Runs the body of a C function, which returns a berth_status.
template <class Body>
berth_status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(BERTH_OUT_OF_MEMORY, "there is no memory left");
  } catch (const std::exception& exception) {
    return fail(BERTH_INTERNAL, exception.what());
  }
}

/// A structure of the caller's, as this version knows it: what it did not have is 0. An error if it
/// is null, too short, or asks for what this version does not know.
template <class T>
Result<T> read_sized(const T* from, const char* name) {
  if (from == nullptr) return Error{Errc::kInvalid, std::string(name) + " is null"};
  if (from->size < sizeof(T)) {
    return Error{Errc::kInvalid, std::string(name) + " has size " + std::to_string(from->size) +
                                     ", and not sizeof, " + std::to_string(sizeof(T))};
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(T); i < from->size; ++i) {
    if (bytes[i] != 0) {
      return Error{Errc::kVersion,
                   std::string(name) + " has a field that this version of libberth does not know"};
    }
  }
  T read{};
  std::memcpy(&read, from, sizeof(T));
  return read;
}

/// Checks that a structure can be filled.
template <class T>
Status check_sized(const T* to, const char* name) {
  if (to == nullptr) return Error{Errc::kInvalid, std::string(name) + " is null"};
  if (to->size >= sizeof(T)) return Unit{};
  return Error{Errc::kInvalid, std::string(name) + " has size " + std::to_string(to->size) +
                                   ", and not sizeof, " + std::to_string(sizeof(T))};
}

/// Fills it; fields of a later version are 0.
template <class T>
void write_sized(T* to, T value) {
  const std::uint32_t size = to->size;
  std::memset(reinterpret_cast<unsigned char*>(to), 0, size);
  value.size = size;
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace berth::library
