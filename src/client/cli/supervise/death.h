// SPDX-License-Identifier: Apache-2.0
// Ending, or being stopped, as the command was: so that shells, make and CI see what they would see
// without us in between. Only for a program with one thread.
#pragma once

namespace berth::cli {

/// Dies of the signal, without leaving a core of ours beside the command's.
[[noreturn]] void die_of(int signal);

/// Stops as Ctrl-Z would. Returns when we are continued, or at once where nobody could do so: in a
/// process group that no shell watches the kernel does not stop anybody.
void stop_as_by_terminal();

}  // namespace berth::cli
