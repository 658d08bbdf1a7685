// SPDX-License-Identifier: Apache-2.0
// GET /v1/history/events: who did what to whose lease. Names and numbers only: neither command
// lines nor handles. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/deed.h"
#include "wire/history.h"

namespace berth::wire {

std::string encode_deeds(const std::vector<Deed>& deeds, const PastFacts& facts);
struct DeedsAnswer {
  std::vector<Deed> deeds;
  PastFacts facts;
};
Result<DeedsAnswer> decode_deeds(std::string_view text);

}  // namespace berth::wire
