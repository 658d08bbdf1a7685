// SPDX-License-Identifier: Apache-2.0
// Messages to berth-deliver, and what the daemon reads from it.
#include <cstddef>
#include <string_view>

#include "fuzz.h"
#include "wire/delivery.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::fuzz::text_of(data, size);
  namespace wire = berth::wire;
  berth::fuzz::check_trip(text, wire::decode_delivery, wire::encode_delivery);
  berth::fuzz::check_trip(text, wire::decode_outcome, wire::encode_outcome);
  return 0;
}
