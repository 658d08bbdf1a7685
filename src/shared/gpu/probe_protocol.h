// SPDX-License-Identifier: Apache-2.0
// Protocol of daemon and probe: a line of JSON each way, one question at a time. Both sides are of
// one installation, so there is no version; but a probe may be shot in the middle of a line or go
// mad, so what it says is believed only as far as it can be read. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/device.h"

namespace berth::gpu {

inline constexpr std::size_t kQuestionMax = std::size_t{1} << 18U;  // Bytes of a line.
inline constexpr std::size_t kAnswerMax = std::size_t{8} << 20U;    // Bytes of a line.
inline constexpr std::size_t kDevicesMax = 256;                     // As limits::kDevicesMax.
inline constexpr std::size_t kProcessesMax = 2'048;                 // On all devices together.
inline constexpr std::size_t kAncestorsMax = 32;                    // As limits::kAncestorsMax.

/// What does not change while a device is there.
struct Identity {
  DeviceId id;
  std::uint32_t index = 0;
  std::string model;
  std::string pci_bus;
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

struct Question {
  std::uint64_t number = 0;     // The answer must repeat it.
  std::vector<Identity> known;  // For a new child, that need not wake them to know who they are.
};

std::string encode(const Question& question);
Result<Question> decode_question(std::string_view line);

/// The instants of the sample are the daemon's and do not travel. A device whose id is all zero is
/// one that could not be asked for it; its index tells which it is.
struct Answer {
  std::uint64_t number = 0;
  Sample sample;
};

/// What is beyond the bounds above is left out, the last ones first.
std::string encode(const Answer& answer);
/// kCorrupt for anything that encode cannot have written.
Result<Answer> decode_answer(std::string_view line);

}  // namespace berth::gpu
