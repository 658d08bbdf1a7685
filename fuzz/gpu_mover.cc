// SPDX-License-Identifier: Apache-2.0
// The line by which berth-mover says how it went: it reads the same when it is written again.
#include "fuzz.h"
#include "gpu/mover.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::fuzz::check_trip(
      berth::fuzz::text_of(data, size), berth::gpu::decode_move_result,
      [](const berth::TransferResult& result) { return berth::gpu::encode(result); });
  return 0;
}
