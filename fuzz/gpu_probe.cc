// SPDX-License-Identifier: Apache-2.0
// Messages of the probe to the daemon, and of the daemon to the probe.
#include <cstddef>
#include <string_view>

#include "fuzz.h"
#include "gpu/probe_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::fuzz::text_of(data, size);
  namespace gpu = berth::gpu;
  berth::fuzz::check_trip(text, gpu::decode_answer,
                          [](const gpu::Answer& answer) { return gpu::encode(answer); });
  berth::fuzz::check_trip(text, gpu::decode_question,
                          [](const gpu::Question& question) { return gpu::encode(question); });
  return 0;
}
