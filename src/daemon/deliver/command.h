// SPDX-License-Identifier: Apache-2.0
// Runs an alert command with what is delivered on its standard input. Blocks for 10 s at most: then
// the command is killed, with what it has started. Only for a program with one thread.
#pragma once

#include "wire/delivery.h"

namespace berth::deliver {

/// Delivered is exit status 0. One that cannot be started is refused, any other end is tried again,
/// with the last line that it wrote on standard error as the reason.
wire::DeliveryOutcome run_command(const wire::Delivery& delivery,
                                  const wire::AlertCommand& command);

}  // namespace berth::deliver
