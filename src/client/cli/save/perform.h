// SPDX-License-Identifier: Apache-2.0
// Asking a program to save itself, and finding out whether it did. Waits, for hours if need be: it
// is done in a process of its own (save/process.h), which is ended when the time is up.
#pragma once

#include <string>

#include "base/ids.h"
#include "cli/save/way.h"

namespace berth::cli {

struct Performed {
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;  // For people, one line.
};

/// Sends the signal; with files to confirm it, waits until one is newer and has been still.
Performed perform(const SignalWay& way, Process command);
/// One POST without a body. Saved is what answers 2xx, but for 202: that is a promise.
Performed perform(const HttpWay& way, CheckpointReason reason);

}  // namespace berth::cli
