// SPDX-License-Identifier: Apache-2.0
// Outcomes of saves, in words for people. Pure.
#pragma once

#include <string>
#include <string_view>

#include "cli/render/text.h"
#include "model/checkpoint.h"
#include "model/ladder.h"

namespace berth::cli {

/// What follows "lease 12": "has saved itself (out/a.pt)", or "has not saved itself: timed out, …".
std::string saved_text(const CheckpointEnd& end, Charset charset);
/// "suspend for over_budget: failed, …"; one that is under way: "suspend for over_budget: under
/// way"
std::string measure_text(const MeasureTaken& taken, Charset charset);
/// "timed out"
std::string_view outcome_text(CheckpointOutcome outcome);
/// "by signal, within 60s, each 10m"
std::string way_text(const CheckpointWay& way);

}  // namespace berth::cli
