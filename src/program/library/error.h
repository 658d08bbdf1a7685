// SPDX-License-Identifier: Apache-2.0
// Failures of the C functions: status and last error, and the walls around them: no exception
// leaves one. Any thread; each has its own last error.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// How a C function ends. The text of an error is left for this thread.
class Ending {
 public:
  Ending(berth_status status) : status_(status) {}
  Ending(const Error& error) : status_(fail(error)) {}
  Ending(const Status& done) : status_(done.ok() ? BERTH_OK : fail(done.error())) {}
  berth_status status() const { return status_; }

 private:
  berth_status status_;
};

/// Runs the body of a C function, which returns an Ending.
template <class Body>
berth_status guarded(Body body) {
  try {
    return Ending(body()).status();
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

/// The same of a structure that has grown: of an older program's what is not there is 0. `least`:
/// what it was at first.
template <class T>
Result<T> read_grown(const T* from, const char* name, std::size_t least) {
  if (from == nullptr || from->size >= sizeof(T) || from->size < least) {
    return read_sized(from, name);
  }
  T read{};
  std::memcpy(&read, from, from->size);
  return read;
}

/// The same where it may be null: then all of it is 0.
template <class T>
Result<T> read_optional(const T* from, const char* name) {
  if (from == nullptr) return T{};
  return read_sized(from, name);
}

/// Checks that a structure can be filled.
template <class T>
Status check_sized(const T* to, const char* name) {
  if (to == nullptr) return Error{Errc::kInvalid, std::string(name) + " is null"};
  if (to->size >= sizeof(T)) return Unit{};
  return Error{Errc::kInvalid, std::string(name) + " has size " + std::to_string(to->size) +
                                   ", and not sizeof, " + std::to_string(sizeof(T))};
}

/// Fills it, which ends well; fields of a later version are 0.
template <class T>
berth_status write_sized(T* to, T value) {
  const std::uint32_t size = to->size;
  std::memset(reinterpret_cast<unsigned char*>(to), 0, size);
  value.size = size;
  std::memcpy(to, &value, sizeof(T));
  return BERTH_OK;
}

/// As much of it as there is room for.
template <std::size_t kSize>
void copy_text(char (&to)[kSize], std::string_view from) {
  to[from.copy(to, kSize - 1)] = '\0';
}

}  // namespace berth::library
