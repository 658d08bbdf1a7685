// SPDX-License-Identifier: Apache-2.0
// Rules and what they say, for people. Pure.
#pragma once

#include <string>

#include "cli/render/context.h"
#include "wire/alerts.h"

namespace berth::cli {

std::string test_lines(const wire::AlertTest& test, const RenderContext& context);
std::string alert_lines(const wire::AlertList& list, const RenderContext& context);

}  // namespace berth::cli
