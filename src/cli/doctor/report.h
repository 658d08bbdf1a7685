// SPDX-License-Identifier: Apache-2.0
// The doctor's findings as text. Pure.
#pragma once

#include <string>

#include "cli/doctor/finding.h"
#include "cli/render/context.h"

namespace berth::cli {

/// Grouped; beside a fact that is not well what follows from it and a command that mends it.
std::string findings_text(const Findings& findings, const RenderContext& context);

/// berth/doctor/v1; the level in lower case.
std::string findings_json(const Findings& findings, UnixMs now);

}  // namespace berth::cli
