// SPDX-License-Identifier: Apache-2.0
// The text beside facts that agents are told: one to five lines, in which nothing stands that a
// user of the machine wrote. See Note [What others wrote]. Pure; any thread.
#pragma once

#include <string>

#include "agents/answers.h"
#include "agents/facts.h"
#include "base/units.h"
#include "wire/error.h"

namespace berth::agents {

std::string text_of(const StatusFacts& facts);
std::string text_of(const FitFacts& facts);
std::string text_of(const AcquireAnswer& answer);
std::string text_of(const RunAnswer& answer);
std::string text_of(const JobAnswer& answer);
std::string text_of(const ControlAnswer& answer);
std::string text_of(const MessageReply& answer);
/// "lease 12 is held, 8.0 GiB on GPU 0"
std::string text_of(const LeaseFacts& lease);

/// Why something was refused, and what can be done: the daemon's sentence only where that is about
/// what was asked for itself.
std::string text_of(const wire::ApiError& error);

}  // namespace berth::agents
