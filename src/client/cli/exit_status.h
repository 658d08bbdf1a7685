// SPDX-License-Identifier: Apache-2.0
// Exit statuses of `berth`: the codes of wire/exit_status.h, and which of them belongs to a failure
// that the daemon did not answer. docs/cli.md has the table for users. Any thread.
#pragma once

#include "base/result.h"
#include "wire/exit_status.h"

namespace berth::cli {

using wire::ExitCode;

constexpr int to_status(ExitCode code) {
  return static_cast<int>(code);
}

ExitCode exit_code(Errc code);

}  // namespace berth::cli
