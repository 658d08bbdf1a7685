// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_status.h"

namespace berth::cli {

ExitCode exit_code(Errc code) {
  switch (code) {
    case Errc::kInvalid:
      return ExitCode::kUsage;
    case Errc::kNotFound:
      return ExitCode::kNoInput;
    case Errc::kPermission:
      return ExitCode::kNoPermission;
    case Errc::kUnavailable:
      return ExitCode::kUnavailable;
    case Errc::kTimedOut:
      return ExitCode::kTryLater;
    case Errc::kIo:
    case Errc::kFull:
      return ExitCode::kIoError;
    case Errc::kExhausted:
      return ExitCode::kOsError;
    case Errc::kCorrupt:
      return ExitCode::kInternal;
    case Errc::kVersion:
      return ExitCode::kVersion;
    case Errc::kConflict:  // The other side lives in another world.
      return ExitCode::kConfig;
    case Errc::kCannotCreate:
      return ExitCode::kCannotCreate;
  }
  return ExitCode::kInternal;
}

}  // namespace berth::cli
