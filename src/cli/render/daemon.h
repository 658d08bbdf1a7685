// SPDX-License-Identifier: Apache-2.0
// What the daemon says of itself, for people. Pure.
#pragma once

#include <string>

#include "cli/render/scene.h"
#include "wire/daemon.h"

namespace berth::cli {

std::string daemon_text(const wire::DaemonView& daemon, const Scene& scene);

}  // namespace berth::cli
