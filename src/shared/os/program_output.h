// SPDX-License-Identifier: Apache-2.0
// Output of another program, for a caller that waits for its end. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "os/child.h"

namespace berth::os {

struct ProgramOutput {
  int status = 0;    // As waitpid() gives it.
  std::string text;  // Of its stdout, as much as was to be kept.
};

struct OutputBounds {
  std::size_t bytes_max = 0;  // More is read, and not kept.
  Duration within = {};       // Then it is killed; zero: it has the time that it takes.
};

/// Starts it, with a pipe for its stdout, and waits for its end.
Result<ProgramOutput> output_of(SpawnPlan plan, const OutputBounds& bounds);

}  // namespace berth::os
