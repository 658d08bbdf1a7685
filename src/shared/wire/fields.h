// SPDX-License-Identifier: Apache-2.0
// Common parts of the readers of several kinds of messages: ranges of fields, and fields that occur
// in many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "model/request.h"
#include "wire/json_reader.h"
#include "wire/limits.h"

namespace berth::wire {

inline constexpr JsonDocument::Form kAnswer = {
    .what = "the daemon's answer", .manner = Manner::kLenient, .size_max = limits::kAnswerMax};

inline constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();
inline constexpr ObjectReader::Range kAny = {0, kMax64};
inline constexpr std::size_t kAnyCount = std::numeric_limits<std::size_t>::max();

DeviceId read_device_id(ObjectReader& reader, std::string_view field);
/// Of a body: what is neither index nor UUID is refused, and so are more than `count_max`.
void read_device_names(ObjectReader& reader, std::string_view field, std::size_t count_max,
                       std::vector<DeviceName>& out);
/// Of an answer: what is neither is passed over.
void read_device_names(ObjectReader& reader, std::string_view field, std::vector<DeviceName>& out);

}  // namespace berth::wire
