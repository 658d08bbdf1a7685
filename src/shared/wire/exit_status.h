// SPDX-License-Identifier: Apache-2.0
// The exit statuses that berth itself ends with (sysexits.h where it has a fitting one). Scripts
// rely on these numbers: they are never changed, only added to. Which error ends with which is the
// table in wire/error.cc.
#pragma once

#include <cstdint>

namespace berth::wire {

enum class ExitCode : std::uint8_t {
  kOk = 0,
  kFailed = 1,             // Understood, and failed.
  kUsage = 64,             // A bad option or an impossible request.
  kDataError = 65,         // A bad input file.
  kNoInput = 66,           // No such lease or file.
  kUnavailable = 69,       // No daemon, no GPU or no driver.
  kInternal = 70,          // A fault of ours.
  kOsError = 71,           // The system refused something.
  kCannotCreate = 73,      // A file or directory cannot be made.
  kIoError = 74,           // Reading or writing failed; the disk is full.
  kTryLater = 75,          // Not granted in the given time.
  kVersion = 76,           // The daemon speaks another version.
  kNoPermission = 77,      // Not yours, or more than you may have.
  kConfig = 78,            // The configuration is invalid, or of another world.
  kTimeLimit = 124,        // --limit or --timeout was reached.
  kCannotSupervise = 125,  // Failed after the grant.
  kNotExecutable = 126,
  kCommandNotFound = 127,
  kInterrupted = 130,  // Ctrl-C while waiting.
};

}  // namespace berth::wire
