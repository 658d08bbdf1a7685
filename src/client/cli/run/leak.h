// SPDX-License-Identifier: Apache-2.0
// Detection of a lease whose memory grew all its life, by the figures of its past. Pure; any
// thread.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/units.h"
#include "model/history.h"

namespace berth::cli {

struct Leak {
  Bytes growth;
  Duration span;  // In which it grew so.
  Bytes a_minute;
};

/// Of figures of seconds, oldest first. The first third of a life is left out: that is where a
/// program takes what it needs. Absent where it is too short to tell (20 s), where the growth is
/// small, where memory was given back meanwhile, or where it all came at once.
std::optional<Leak> leak_in(std::span<const history::Bucket> buckets);

/// "its memory grew all the while, …", for the user who started the command.
std::string leak_text(const Leak& leak);

}  // namespace berth::cli
