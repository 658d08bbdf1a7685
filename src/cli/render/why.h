// SPDX-License-Identifier: Apache-2.0
// Why a request waits, in words: who has what it waits for, until when, and what would help. Never
// only «no». Pure; what is told was computed by the coordinator.
#pragma once

#include <string>

#include "cli/render/scene.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

/// The whole answer of `berth why`, some lines.
std::string why_text(const LeaseView& lease, const WhyView& why, const Scene& scene);

/// "waits for memory; 12 ends in ~14 min": for lists and the waiting line of `run`.
std::string short_reason(const WhyView& why, const Scene& scene);

/// What `run` shows of its own request while it waits: "waiting for 8.0 GiB on any GPU — 2nd in
/// queue, GPU 0 has 3.1 GiB free (me/train holds 11.0 GiB, ~14 min left)".
std::string waiting_line(const Request& request, const WhyView& why, const Scene& scene);

/// The answer of `fit`, and of a request that was refused for want of room.
/// What `fit --like` found out about the command.
std::string learned_text(const FitView& fit);

std::string fit_text(const FitView& fit, const Scene& scene);

}  // namespace berth::cli
