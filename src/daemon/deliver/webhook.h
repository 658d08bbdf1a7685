// SPDX-License-Identifier: Apache-2.0
// Sends a webhook: one POST, and what came of it. Blocks for 10 s at most. Only for a program with
// one thread that does nothing else, and ends at once when this returns.
#pragma once

#include "base/units.h"
#include "wire/delivery.h"

namespace berth::deliver {

/// `now` is what is signed.
wire::DeliveryOutcome send_webhook(const wire::Delivery& delivery, const wire::Webhook& webhook,
                                   UnixMs now);

}  // namespace berth::deliver
