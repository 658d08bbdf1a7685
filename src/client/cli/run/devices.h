// SPDX-License-Identifier: Apache-2.0
// Selection of devices: by -g, and by a CUDA_VISIBLE_DEVICES that stood in the environment. Pure:
// the caller asks the daemon which devices there are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/lease.h"
#include "model/request.h"
#include "model/view.h"

namespace berth::cli {

/// A UUID as typed, perhaps only its beginning: "GPU-5a1c".
using DevicePrefix = std::string;

/// What -g says. Either a number of devices, or names of them.
struct DeviceChoice {
  std::uint32_t count = 1;
  std::vector<std::variant<std::uint32_t, DevicePrefix>> names;  // Empty: any `count` of them.
};

/// "2" (so many), "any", "0," and "0,1" (indices), "GPU-5a1c…", "0,GPU-5a1c…". An error is a
/// sentence that names the cure.
Result<DeviceChoice> parse_device_choice(std::string_view text);

/// Whether the daemon's list of devices is needed to name them.
bool needs_device_list(const DeviceChoice& choice);
/// The names in full. kUnavailable: no device is called so, with those there are; kInvalid: several
/// are, or one is named twice.
Result<std::vector<DeviceName>> resolve(const DeviceChoice& choice,
                                        std::span<const DeviceView> devices);

/// The devices that a CUDA_VISIBLE_DEVICES names, as CUDA reads it: up to the first entry that is
/// none of them.
DeviceChoice choice_of_visible_devices(std::string_view value);

/// The positions in `parts` of those that are among the choice, in order. A lease on several
/// devices may be narrowed by the caller, never widened.
std::vector<std::size_t> intersection(std::span<const LeasePart> parts, const DeviceChoice& choice);

/// The largest budget that each of the parts' devices could grant if nothing else were there.
/// Absent: one of them is not among `devices`, or its size is not known.
std::optional<Bytes> largest_budget(std::span<const LeasePart> parts,
                                    std::span<const DeviceView> devices);

/// `-g 1` reads like GPU 1, and means one GPU: a sentence where another one came of it, else empty.
/// `here`: how many GPUs the machine has.
std::string count_hint(std::string_view gpus, std::span<const LeasePart> parts, std::size_t here);

}  // namespace berth::cli
