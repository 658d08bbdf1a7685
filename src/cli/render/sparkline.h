// SPDX-License-Identifier: Apache-2.0
// A line of small columns, as high as figures are. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/units.h"
#include "cli/render/text.h"

namespace berth::cli {

/// A column each; a blank where nothing is known. `top`: what a full column stands for.
std::string sparkline(std::span<const std::optional<Bytes>> figures, Bytes top, Charset charset);

}  // namespace berth::cli
