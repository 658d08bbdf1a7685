// SPDX-License-Identifier: Apache-2.0
// The sentences about messages to the holder of a lease. What others wrote is shown without the
// letters that would do something to a terminal. Pure.
#pragma once

#include <string>

#include "cli/render/context.h"
#include "model/lease.h"
#include "model/message.h"

namespace berth::cli {

/// "3 from bert: \"need 6 GiB\""
std::string numbered_text(const Message& message, const RenderContext& context);
/// "message 3 from bert: \"need 6 GiB\""
std::string message_text(const Message& message, const RenderContext& context);

/// "agreed by you", "refused by its rule", "refused by anna: \"in the middle of it\"", "no answer
/// yet".
std::string answer_text(const Message& message, const RenderContext& context);

/// What its `berth run` says of a new one: the same, and how it is answered.
std::string message_notice(const LeaseView& lease, const Message& message,
                           const RenderContext& context);

/// What the lease was asked last, and what was said last; null: nothing.
const Message* last_sent(const LeaseView& lease);
const Message* last_answered(const LeaseView& lease);

}  // namespace berth::cli
