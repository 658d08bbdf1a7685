// SPDX-License-Identifier: Apache-2.0
// Checks what a client says of itself with each request: whether both understand each other, and
// which process it is, as far as the kernel bears that out. Any thread.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/ids.h"
#include "os/processes.h"
#include "wire/error.h"
#include "wire/hello.h"
#include "wire/routes.h"

namespace berth::server {

/// Who does not say hello (curl, say) may do whatever needs no process to vouch for.
std::variant<std::optional<Process>, wire::ApiError> process_of(
    const std::optional<std::string>& said, const wire::ServerHello& ours, const os::Peer& peer,
    wire::Route route);

}  // namespace berth::server
