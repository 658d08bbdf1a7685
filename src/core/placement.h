// SPDX-License-Identifier: Apache-2.0
// Which devices a request gets: for a budget those with the least grantable memory that still fit,
// so that large gaps stay whole; for a whole device those with the least external use.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ledger.h"
#include "model/record.h"
#include "model/request.h"

namespace berth::core {

using MayUse = std::function<bool(const Account&)>;

/// The parts of the grant, in PCI order, or nothing where it does not fit. `may_use` decides for
/// each device; eligibility and models are looked at here.
std::optional<std::vector<Part>> place(const Request& request, const Ledger& ledger,
                                       const MayUse& may_use);

}  // namespace berth::core
