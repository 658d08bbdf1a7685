// SPDX-License-Identifier: Apache-2.0
#include "library/error.h"

#include <algorithm>
#include <array>

namespace berth::library {
namespace {

constexpr std::size_t kTextMax = 1'024;

// Plain bytes: nothing is to be built or taken down with a thread.
std::array<char, kTextMax>& text_of_thread() {
  thread_local std::array<char, kTextMax> text{};
  return text;
}

berth_status status_of(Errc code) {
  switch (code) {
    case Errc::kInvalid:
      return BERTH_INVALID;
    case Errc::kNotFound:
      return BERTH_NOT_FOUND;
    case Errc::kPermission:
      return BERTH_PERMISSION;
    case Errc::kUnavailable:
      return BERTH_UNAVAILABLE;
    case Errc::kTimedOut:
      return BERTH_TIMED_OUT;
    case Errc::kIo:
    case Errc::kCannotCreate:
      return BERTH_IO;
    case Errc::kFull:
    case Errc::kExhausted:
      return BERTH_FULL;
    case Errc::kCorrupt:
      return BERTH_CORRUPT;
    case Errc::kVersion:
      return BERTH_OTHER_VERSION;
    case Errc::kConflict:
      return BERTH_CONFLICT;
  }
  return BERTH_INTERNAL;
}

}  // namespace

berth_status fail(berth_status status, std::string_view text) {
  std::array<char, kTextMax>& kept = text_of_thread();
  const std::size_t length = std::min(text.size(), kept.size() - 1);
  std::ranges::copy(text.substr(0, length), kept.begin());
  kept.at(length) = '\0';
  return status;
}

berth_status fail(const Error& error) {
  return fail(status_of(error.code), error.message);
}

const char* last_error() {
  return text_of_thread().data();
}

}  // namespace berth::library
