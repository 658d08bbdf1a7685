// SPDX-License-Identifier: Apache-2.0
// Output of `berth plan`: the sessions of a plan on a line of time. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/plan/outlook.h"
#include "cli/render/context.h"

namespace berth::cli {

/// In order of start; what has ended well comes first.
std::string plan_text(std::vector<OutlookRow> rows, const RenderContext& context);
std::string plan_json(const std::vector<OutlookRow>& rows, UnixMs now, bool simulated);

}  // namespace berth::cli
