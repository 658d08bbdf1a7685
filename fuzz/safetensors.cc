// SPDX-License-Identifier: Apache-2.0
// Safetensors files as others make them: what is refused says why; of what is accepted each byte
// of the buffer belongs to one tensor, and it can be written and read again.
#include <string>

#include "base/json_tree.h"
#include "fuzz.h"
#include "safetensors/header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace safetensors = berth::safetensors;
  const std::string_view file = berth::fuzz::text_of(data, size);
  (void)berth::is_json(file);
  const auto header = safetensors::parse_file(file);
  if (!header.ok()) {
    CHECK(!header.error().message.empty());
    return 0;
  }
  std::uint64_t at = 0;
  for (const safetensors::Entry& entry : header->tensors) {
    CHECK(entry.begin == at && entry.end >= at && entry.end <= size);
    at = entry.end;
  }
  safetensors::Header written = *header;
  CHECK(safetensors::lay_out(written.tensors).ok());
  CHECK(written.buffer_bytes() == at);
  const auto head = safetensors::head_of(written);
  CHECK(head.ok() && head->size() % 8 == 0);
  const auto again = safetensors::parse_file(*head + std::string(at, '\0'));
  CHECK(again.ok() && again->metadata == header->metadata);
  CHECK(again->tensors.size() == header->tensors.size());
  const auto head_again = safetensors::head_of(*again);
  CHECK(head_again.ok() && *head_again == *head);
  return 0;
}
