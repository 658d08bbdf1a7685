// SPDX-License-Identifier: Apache-2.0
// The daemon's description of itself, for people. Pure.
#pragma once

#include <string>

#include "cli/render/context.h"
#include "wire/daemon.h"

namespace berth::cli {

std::string daemon_text(const wire::DaemonView& daemon, const RenderContext& context);

}  // namespace berth::cli
