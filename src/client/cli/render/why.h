// SPDX-License-Identifier: Apache-2.0
// Reasons why a request waits, in words: who has what it waits for, until when, and what would
// help. Never only «no». Pure; the coordinator computed all that they say.
#pragma once

#include <string>

#include "base/units.h"
#include "cli/render/context.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

/// The whole answer of `berth why`, some lines.
std::string why_text(const LeaseView& lease, const WhyView& why, const RenderContext& context);

/// "waits for memory; 12 ends in ~14 min": for lists.
std::string short_reason(const WhyView& why, const RenderContext& context);

/// "waits for memory": the reason alone.
std::string phrase_of(const WhyView& why);

/// "4, 5 and 2 more", "nobody"
std::string who_is_ahead(const WhyView& why);

/// What `fit --like` found out about the command.
std::string learned_text(const FitView& fit);

/// The answer of `fit`, and of a request that was refused for want of room.
std::string fit_text(const FitView& fit, const RenderContext& context);

/// Of the GPUs that it would get, the first that lacks something; null where none is known.
const Shortage* lacking(const WhyView& why);

/// Who has most of one GPU, and how much that is there.
struct Occupant {
  const Holder* holder = nullptr;  // Null: nobody is known there.
  Bytes charged;
};
Occupant largest_on(const WhyView& why, const Shortage& gpu);

}  // namespace berth::cli
