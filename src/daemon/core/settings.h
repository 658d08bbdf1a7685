// SPDX-License-Identifier: Apache-2.0
// Settings of an operator about decisions: plain data, and the built-in values. They are a part of
// config::Config, whose keys set them; records never depend on them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "model/ladder.h"
#include "model/policy.h"
#include "model/request.h"

namespace berth::core {

struct UserLimits {
  std::uint32_t waiting_max = 256;
  std::uint32_t leases_max = 64;
  Bytes vram_max = Bytes::max();  // Sum of budgets.
  Priority priority_max = Priority::kUrgent;
};

/// When a lease makes room for being idle, and how.
struct IdleSettings {
  Duration max = {};  // 0: never.
  IdleAction action = IdleAction::kPause;
};

/// What requests of one kind of work get where they do not say. A name of its operator's choice.
struct Tier {
  std::optional<Priority> priority;
  std::optional<Share> share;
  bool may_yield = false;
  // Instead of Settings::idle.
  std::optional<Duration> idle_max;
  std::optional<IdleAction> idle_action;
};

struct OverBudgetSettings {
  Bytes tolerance = mib(64);     // Above the budget by so much is not counted.
  Duration grace = seconds(30);  // `kill`: the time to be within the budget again.
};

/// Of leases that run in turns.
struct TurnTerms {
  Duration least = seconds(10);
  std::uint32_t loss_percent =
      5;  // Of the time, to moves; 0: turns of the least, whatever is lost.
};

struct PressureSettings {
  std::uint32_t warn_percent = 62;  // Of a lease's budget.
  std::uint32_t critical_percent = 88;
  Duration ahead = seconds(90);  // How far the growth of unmanaged processes is thought on.
  /// What is done, step by step.
  Ladder on_lease_critical = default_ladder(Cause::kLeaseCritical);
  Ladder on_device_critical = default_ladder(Cause::kDeviceCritical);
  Ladder on_unmanaged = default_ladder(Cause::kUnmanaged);
  Ladder over_budget = default_ladder(Cause::kOverBudget);  // With `--over-budget suspend`.
  Duration cooldown = minutes(10);  // No measure is taken twice on a lease within this.
};

/// So many attempts of a set's jobs that fail in a row within this time put it on hold; 0: none do.
struct BreakerSettings {
  std::uint32_t failures = 10;
  Duration within = minutes(5);
};

struct Settings {
  Order order = Order::kFair;
  bool backfill = true;
  Duration pass_max = minutes(10);    // Nobody is passed for longer.
  Duration aging = minutes(15);       // `priority`: what one level is worth in waiting time.
  Duration starve_after = hours(24);  // `fair`: who waited longer comes before everyone.
  Duration claim_within = seconds(5);
  Bytes reserve = mib(512);  // Kept for unmanaged processes, on each device.
  std::map<DeviceId, Bytes> device_reserve;
  Bytes exclusive_unmanaged_max = gib(1);
  Unmanaged unmanaged = Unmanaged::kAccount;
  OverBudgetSettings over_budget;
  Bytes context_estimate = mib(512);  // What a CUDA context costs, until it is measured.
  PressureSettings pressure;
  TurnTerms turns;
  IdleSettings idle;
  std::map<std::string, Tier> tiers = {
      {"complex", {}}, {"execution", {}}, {"fast", {.priority = Priority::kHigh}}};
  BreakerSettings breaker;
  Duration message_every = minutes(10);  // No rule of a holder answers again within this.
  UserLimits limits_default;
  std::map<UserId, UserLimits> limits;  // Instead of the default. The configuration has names.

  /// What holds for a lease of this request.
  IdleSettings idle_of(const Request& request) const;
  /// Whether some lease may.
  bool idle_leases_make_room() const;
  /// Whether the holders of some are asked first.
  bool holders_are_asked() const;
};

}  // namespace berth::core
