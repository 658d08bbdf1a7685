// SPDX-License-Identifier: Apache-2.0
// Shutdown of the machine, as systemd tells of it. Starts a program and waits for it.
#pragma once

namespace berth::cli {

/// systemd ends all units, to switch the machine off or to start it anew. False where it is not the
/// first process, or does not say within two seconds.
bool is_machine_stopping();

}  // namespace berth::cli
