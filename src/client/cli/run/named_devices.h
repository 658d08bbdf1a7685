// SPDX-License-Identifier: Apache-2.0
// Common part of the verbs other than `run` that name devices: -g is read before anything is asked,
// and filled in with the daemon's list where it needs that.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "cli/daemon_session.h"
#include "cli/run/devices.h"
#include "model/request.h"

namespace berth::cli {

/// `gpus` as -g has it; absent: one, any.
Result<DeviceChoice> choice_of(const std::optional<std::string>& gpus);

/// Puts the devices into the request. False: there are none of these names, which was said.
bool fill_devices(const DeviceChoice& choice, DaemonSession& session, Request& request);

/// What count_hint() says of `gpus` once it has led to `parts`. Asks how many GPUs there are.
std::string hint_at_count(const std::optional<std::string>& gpus, std::span<const LeasePart> parts,
                          DaemonSession& session);

}  // namespace berth::cli
