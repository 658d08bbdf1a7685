// SPDX-License-Identifier: Apache-2.0
// Tasks of berth-mover: each reads the same when it is written again, and what it was told
// in part it does not begin.
#include "fuzz.h"
#include "gpu/mover_task.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::fuzz::text_of(data, size);
  const auto task = berth::gpu::decode_mover_task(text);
  if (!task) return 0;
  CHECK(berth::gpu::is_whole_mover_task(text));
  CHECK(!task->directory.empty() && task->directory.find('\0') == std::string::npos);
  CHECK(task->processes.size() + task->pairs.size() <= size);
  const std::string written = berth::gpu::encode_mover_task(*task);
  const auto again = berth::gpu::decode_mover_task(written);
  CHECK(again.has_value());
  CHECK(berth::gpu::encode_mover_task(*again) == written);
  for (std::size_t cut = 1; cut < written.size() && cut < 256; ++cut) {
    CHECK(!berth::gpu::decode_mover_task(written.substr(0, written.size() - cut)));
  }
  return 0;
}
