// SPDX-License-Identifier: Apache-2.0
// `berth status` and `berth queue` for people. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/render/context.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

/// A waiting request, and why it waits where that was asked.
struct Waiting {
  LeaseView lease;
  std::optional<WhyView> why;
};

struct StatusFacts {
  std::string trouble;  // Of the probe or the daemon; empty if there is none.
  std::vector<DeviceView> devices;
  std::vector<LeaseView> leases;  // Not the waiting ones.
  std::vector<Waiting> queue;     // In order.
};

std::string status_text(const StatusFacts& facts, const RenderContext& context);

std::string device_lines(std::span<const DeviceView> devices, const RenderContext& context);
/// Whether the command that tells more stands beside a request.
enum class Hints : std::uint8_t { kShown, kNone };
/// A request a line, with the reasons of those that have one; below them where that is too wide.
std::string queue_lines(std::span<const Waiting> queue, const RenderContext& context,
                        Hints hints = Hints::kShown);

}  // namespace berth::cli
