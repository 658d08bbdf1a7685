// SPDX-License-Identifier: Apache-2.0
// Shutdown of the machine, as systemd tells of it. Starts a program and waits for it.
#pragma once

namespace berth::cli {

/// systemd ends all units, to switch the machine off or to start it anew. It says so; or nobody
/// answers within two seconds, because the bus was ended already. False where there is no systemd,
/// or never was such a bus.
bool is_machine_stopping();

}  // namespace berth::cli
