// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/outcome.h"

namespace berth::checkpoint {
namespace {

Trouble trouble_of(Errc code) {
  switch (code) {
    case Errc::kInvalid:
      return Trouble::kInvalid;
    case Errc::kNotFound:
      return Trouble::kNotFound;
    case Errc::kCorrupt:
    case Errc::kVersion:
      return Trouble::kCorrupt;
    case Errc::kFull:
      return Trouble::kFull;
    case Errc::kIo:
      return Trouble::kIo;
    case Errc::kPermission:
      return Trouble::kPermission;
    case Errc::kConflict:
      return Trouble::kConflict;
    case Errc::kExhausted:
      return Trouble::kExhausted;
    case Errc::kUnavailable:
    case Errc::kTimedOut:
    case Errc::kCannotCreate:
      return Trouble::kUnavailable;
  }
  return Trouble::kUnavailable;
}

}  // namespace

Failure failure_of(const Error& error) {
  return {trouble_of(error.code), error.message};
}

}  // namespace berth::checkpoint
