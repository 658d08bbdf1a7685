// SPDX-License-Identifier: Apache-2.0
// Reasons why a granted lease does not run, and what would let a request start, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/render/context.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

/// Of a lease with a halt, without the period: "97 me/idle is suspended for lease 9 (anna/x,
/// priority urgent) since 12 s; it comes back when 9 ends". `end`: when that is expected.
std::string halt_sentence(const LeaseView& lease, std::optional<UnixMs> end,
                          const RenderContext& context);

/// The same without the name: "is suspended for lease 9 (anna/x, priority urgent) since 12 s; …".
std::string halt_words(const LeaseView& lease, std::optional<UnixMs> end,
                       const RenderContext& context);

/// The same for the terminal of its own `berth run`, without the name of the lease: "is paused by
/// anna: lunch (berth resume 97)". What is offered there works.
std::string halt_notice(const LeaseView& lease, const RenderContext& context);

/// "12 (guest/x)"; the number alone where it is nobody's of the list.
std::string named_holder(const std::vector<Holder>& holders, LeaseId lease,
                         const RenderContext& context);

/// With the command line of each that the reader may give; empty if there are none.
std::string remedies_text(const std::vector<Remedy>& remedies, const std::vector<Holder>& holders,
                          const RenderContext& context);

}  // namespace berth::cli
