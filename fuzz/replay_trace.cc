// SPDX-License-Identifier: Apache-2.0
// Traces as others write them: what is refused says where and why; what is accepted is sorted, and
// each of its tasks has a size and a time.
#include "fuzz.h"
#include "replay/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace replay = berth::replay;
  const auto tasks = replay::parse_trace(berth::fuzz::text_of(data, size), berth::gib(16));
  if (!tasks.ok()) {
    CHECK(!tasks.error().message.empty());
    return 0;
  }
  CHECK(!tasks->empty() && tasks->size() <= replay::kTasksMax);
  berth::Instant last;
  for (const replay::Task& task : *tasks) {
    CHECK(task.arrives >= last && task.runs > berth::Duration{});
    CHECK(task.request.share == berth::Share::kExclusive || task.request.vram > berth::Bytes{});
    last = task.arrives;
  }
  return 0;
}
