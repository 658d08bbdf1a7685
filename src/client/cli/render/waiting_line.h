// SPDX-License-Identifier: Apache-2.0
// The line that `berth run` shows while it waits, for terminals of any width. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/render/context.h"
#include "model/request.h"
#include "model/view.h"

namespace berth::cli {

/// "waiting for 8.0 GiB on any GPU — 2nd in queue, GPU 0 has 3.1 GiB free (me/train holds 11.0 GiB,
/// ~14 min left)"
std::string waiting_line(const Request& request, const WhyView& why, const RenderContext& context);

/// The same news with fewer and fewer words, the longest first. What is in the way stands in all
/// of them, and who that is in all but the last.
std::vector<std::string> waiting_lines(const Request& request, const WhyView& why,
                                       const RenderContext& context);

}  // namespace berth::cli
