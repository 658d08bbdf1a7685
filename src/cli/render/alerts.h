// SPDX-License-Identifier: Apache-2.0
// Rules and what they say, for people. Pure.
#pragma once

#include <string>

#include "cli/render/scene.h"
#include "wire/alerts.h"

namespace berth::cli {

std::string test_lines(const wire::AlertTest& test, const Scene& scene);
std::string alert_lines(const wire::AlertList& list, const Scene& scene);

}  // namespace berth::cli
