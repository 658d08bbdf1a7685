// SPDX-License-Identifier: Apache-2.0
// The line that `berth run` shows while it waits, for terminals of any width. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/render/scene.h"
#include "model/request.h"
#include "model/view.h"

namespace berth::cli {

/// The same news with fewer and fewer words, the longest first. Who holds the memory and how much
/// is free stand in all of them.
std::vector<std::string> waiting_lines(const Request& request, const WhyView& why,
                                       const Scene& scene);

}  // namespace berth::cli
