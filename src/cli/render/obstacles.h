// SPDX-License-Identifier: Apache-2.0
// The GPU that a request waits for, and who is on it, out of the answer to why it waits. Pure.
#pragma once

#include "base/units.h"
#include "model/view.h"

namespace berth::cli {

/// Of the GPUs that it would get, the first that lacks something; null where none is known.
const Shortage* lacking(const WhyView& why);

/// Who has most of one GPU, and how much that is there.
struct Occupant {
  const Holder* holder = nullptr;  // Null: nobody is known there.
  Bytes charged;
};
Occupant largest_on(const WhyView& why, const Shortage& gpu);

}  // namespace berth::cli
