// SPDX-License-Identifier: Apache-2.0
// Choice of devices for a request: for a budget those with the least grantable memory that still
// fit, so that large gaps stay whole; for a whole device those with the least unmanaged use.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/ledger.h"
#include "model/record.h"
#include "model/request.h"

namespace berth::core {

/// How many devices it asks for.
std::size_t device_count(const Request& request);

/// They must be of one model.
bool wants_one_model(const Request& request);

/// The parts of the grant, in PCI order, or nothing where it does not fit. `usable` are the devices
/// that it may have, in the ledger's order; models are looked at here.
std::optional<std::vector<Part>> place(const Request& request, std::vector<const Account*> usable);

}  // namespace berth::core
