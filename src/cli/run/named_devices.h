// SPDX-License-Identifier: Apache-2.0
// What verbs other than `run` have in common that name devices: -g is read before anything is
// asked, and filled in with the daemon's list where it needs that.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/conversation.h"
#include "cli/run/devices.h"
#include "model/request.h"

namespace berth::cli {

/// `gpus` as -g has it; absent: one, any.
Result<DeviceChoice> choice_of(const std::optional<std::string>& gpus);

/// Puts the devices into the request. False: there are none of these names, which was said.
bool fill_devices(const DeviceChoice& choice, Conversation& conversation, Request& request);

}  // namespace berth::cli
