// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checksums.h"

#include <optional>

#include "base/crc32c.h"
#include "base/json_tree.h"
#include "base/number.h"
#include "checkpoint/names.h"

namespace berth::checkpoint {
namespace {

constexpr const char* kVersionKey = "berth.checkpoint";
constexpr const char* kVersion = "1";
constexpr const char* kStepKey = "berth.step";
constexpr const char* kSlotKey = "berth.slot";
constexpr const char* kStateKey = "berth.state";
constexpr const char* kTensorsKey = "berth.crc32c.tensors";
constexpr const char* kHeaderKey = "berth.crc32c.header";
constexpr std::size_t kSumDigits = 8;
constexpr std::string_view kZeros = "00000000";

std::string hex(std::uint32_t sum) {
  std::string text(kSumDigits, '0');
  for (std::size_t i = 0; i < kSumDigits; ++i) {
    text[kSumDigits - 1 - i] = "0123456789abcdef"[sum >> 4 * i & 15U];
  }
  return text;
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The sum of a header stands in that header: it is of the header with zeros in its place. No text
// inside of another value can look like this, since there each quote has a backslash before it.
std::size_t place_of_sum(std::string_view json) {
  const std::string before = "\"" + std::string(kHeaderKey) + "\":\"";
  const std::size_t at = json.find(before);
  return at == std::string_view::npos ? at : at + before.size();
}

std::uint32_t sum_of_header(std::string_view json, std::size_t place) {
  std::uint32_t sum = crc32c(as_bytes(json.substr(0, place)));
  sum = crc32c(as_bytes(kZeros), sum);
  return crc32c(as_bytes(json.substr(place + kSumDigits)), sum);
}

Error corrupt(std::string message) {
  return {Errc::kCorrupt, std::move(message)};
}

Status check_header(std::string_view json, const Metadata& metadata) {
  const auto version = metadata.find(kVersionKey);
  if (version == metadata.end()) {
    return corrupt("it is a safetensors file, but no checkpoint of Berth's: it has no sums");
  }
  if (version->second != kVersion) {
    return Error{Errc::kVersion, "it is a checkpoint of version " + version->second +
                                     ", which this release does not know"};
  }
  const std::size_t place = place_of_sum(json);
  if (place == std::string_view::npos || place + kSumDigits > json.size()) {
    return corrupt("its header has no sum");
  }
  if (json.substr(place, kSumDigits) != hex(sum_of_header(json, place))) {
    return corrupt("its header is damaged: the sum is another");
  }
  return Unit{};
}

Result<CheckpointInfo> about_of(const Metadata& metadata) {
  CheckpointInfo about;
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  const auto step = parse_number<std::uint64_t>(text(kStepKey));
  if (!step) return corrupt("it names no step");
  about.step = *step;
  about.state = text(kStateKey);
  const std::string slot = text(kSlotKey);
  for (const Slot each : {Slot::kRegular, Slot::kBest, Slot::kEmergency}) {
    if (slot != to_text(each)) continue;
    about.slot = each;
    return about;
  }
  return corrupt("it names no slot");
}

}  // namespace

Result<std::string> head_with_checksums(FilePlan& plan, const CheckpointInfo& about) {
  if (!is_json(about.state)) {
    return Error{Errc::kInvalid, "the state is no JSON text"};
  }
  std::string checksums;
  for (const std::span<const std::byte> piece : plan.pieces) checksums += hex(crc32c(piece));
  plan.header.metadata = {{kVersionKey, kVersion},
                          {kStepKey, std::to_string(about.step)},
                          {kSlotKey, std::string(to_text(about.slot))},
                          {kStateKey, about.state},
                          {kTensorsKey, checksums},
                          {kHeaderKey, std::string(kZeros)}};
  TRY(head, safetensors::head_of(plan.header));
  const std::string_view json = std::string_view(head).substr(safetensors::kPrefixBytes);
  const std::size_t place = place_of_sum(json);
  CHECK(place != std::string_view::npos);
  head.replace(safetensors::kPrefixBytes + place, kSumDigits, hex(sum_of_header(json, place)));
  return head;
}

Result<CheckpointInfo> check_checksums(std::string_view json, const Metadata& metadata,
                                       std::span<const Tensor> tensors) {
  TRY_STATUS(check_header(json, metadata));
  const auto checksums = metadata.find(kTensorsKey);
  if (checksums == metadata.end() || checksums->second.size() != tensors.size() * kSumDigits) {
    return corrupt("it does not have a sum for each tensor");
  }
  std::string_view rest = checksums->second;
  for (const Tensor& tensor : tensors) {
    const auto* const data = static_cast<const std::byte*>(tensor.data);
    if (rest.substr(0, kSumDigits) != hex(crc32c({data, tensor.bytes}))) {
      return corrupt("tensor '" + tensor.name + "' is damaged: the sum is another");
    }
    rest.remove_prefix(kSumDigits);
  }
  return about_of(metadata);
}

}  // namespace berth::checkpoint
