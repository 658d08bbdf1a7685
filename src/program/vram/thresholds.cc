// SPDX-License-Identifier: Apache-2.0
#include "vram/thresholds.h"

#include <string>

#include "base/quantity.h"

namespace berth::vram {
namespace {

Status check_share(const Limit& limit, const char* name) {
  if (limit.bytes || (limit.share > 0 && limit.share <= 1)) return Unit{};
  return Error{Errc::kInvalid, std::string("the share for ") + name +
                                   " is above 0 and at most 1, not " + std::to_string(limit.share)};
}

Status check_order(const Limit& lower, const char* lower_name, const Limit& higher,
                   const char* higher_name) {
  const bool both_bytes = lower.bytes && higher.bytes;
  const bool both_shares = !lower.bytes && !higher.bytes;
  const bool wrong =
      (both_bytes && *lower.bytes > *higher.bytes) || (both_shares && lower.share > higher.share);
  if (!wrong) return Unit{};
  const auto text = [](const Limit& limit) {
    return limit.bytes ? to_text(*limit.bytes) : std::to_string(limit.share);
  };
  return Error{Errc::kInvalid, std::string("thresholds rise from warn over cleanup to critical: ") +
                                   lower_name + " is " + text(lower) + ", above " + higher_name +
                                   " with " + text(higher)};
}

Bytes bytes_of(const Limit& limit, Bytes whole) {
  if (limit.bytes) return *limit.bytes;
  return {static_cast<std::uint64_t>(static_cast<double>(whole.value) * limit.share)};
}

Bytes calm_below(Bytes threshold) {
  return {threshold.value - threshold.value / 20};
}

}  // namespace

Status check(const Limits& limits) {
  TRY_STATUS(check_share(limits.warn, "warn"));
  TRY_STATUS(check_share(limits.cleanup, "cleanup"));
  TRY_STATUS(check_share(limits.critical, "critical"));
  TRY_STATUS(check_order(limits.warn, "warn", limits.cleanup, "cleanup"));
  TRY_STATUS(check_order(limits.cleanup, "cleanup", limits.critical, "critical"));
  return check_order(limits.warn, "warn", limits.critical, "critical");
}

std::optional<Thresholds> thresholds_of(const Limits& limits, std::optional<Bytes> whole) {
  const bool needs_whole = !limits.warn.bytes || !limits.cleanup.bytes || !limits.critical.bytes;
  if (needs_whole && (!whole || whole->value == 0)) return std::nullopt;
  const Bytes all = whole.value_or(Bytes{});
  const Thresholds found = {.warn = bytes_of(limits.warn, all),
                            .cleanup = bytes_of(limits.cleanup, all),
                            .critical = bytes_of(limits.critical, all)};
  if (found.warn > found.cleanup || found.cleanup > found.critical) return std::nullopt;
  return found;
}

Level level_of(const Thresholds& thresholds, Bytes used, Level before) {
  const auto reaches = [&](Level level, Bytes threshold) {
    return used >= (before >= level ? calm_below(threshold) : threshold);
  };
  if (reaches(Level::kCritical, thresholds.critical)) return Level::kCritical;
  if (reaches(Level::kCleanup, thresholds.cleanup)) return Level::kCleanup;
  if (reaches(Level::kWarn, thresholds.warn)) return Level::kWarn;
  return Level::kNormal;
}

}  // namespace berth::vram
