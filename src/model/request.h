// SPDX-License-Identifier: Apache-2.0
// What a session asks for. A Request is plain data, checked for sense by the coordinator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/checkpoint.h"

namespace berth {

enum class Priority : std::uint8_t { kLow, kNormal, kHigh, kUrgent };
constexpr auto words_of(Priority) {
  using enum Priority;
  return make_words<Priority>(
      {{kLow, "low"}, {kNormal, "normal"}, {kHigh, "high"}, {kUrgent, "urgent"}});
}

/// kBudget: beside other budgets. kExclusive: no other lease on the device. kSlice: in turns.
enum class Share : std::uint8_t { kBudget, kExclusive, kSlice };
constexpr auto words_of(Share) {
  using enum Share;
  return make_words<Share>({{kBudget, "budget"}, {kExclusive, "exclusive"}, {kSlice, "slice"}});
}

/// What becomes of processes that outlive the command and still use the device.
enum class Leftovers : std::uint8_t { kWait, kKill, kRelease };
constexpr auto words_of(Leftovers) {
  using enum Leftovers;
  return make_words<Leftovers>({{kWait, "wait"}, {kKill, "kill"}, {kRelease, "release"}});
}

/// What becomes of a lease whose processes use more than its budget, by measurement. kFail:
/// nothing; what the guard lets fail is enough. kSuspend: what the ladder `over_budget` says.
enum class OverBudget : std::uint8_t { kFail, kNotify, kKill, kSuspend };
constexpr auto words_of(OverBudget) {
  using enum OverBudget;
  return make_words<OverBudget>(
      {{kFail, "fail"}, {kNotify, "notify"}, {kKill, "kill"}, {kSuspend, "suspend"}});
}

/// An index in PCI order, or an identity.
using DeviceName = std::variant<std::uint32_t, DeviceId>;

struct Request {
  std::string name;     // Free text; empty: none.
  std::string session;  // Who works, for `fair`: BERTH_SESSION or the user's choice; may be empty.
  std::string command;  // As typed, for people to read.
  std::map<std::string, std::string> labels;
  Priority priority = Priority::kNormal;
  Share share = Share::kBudget;
  Bytes vram;                        // On each device; 0 with kExclusive.
  std::uint32_t device_count = 1;    // Used when `devices` is empty.
  std::vector<DeviceName> devices;   // Exactly these, if not empty.
  bool mixed = false;                // Devices of different models are fine.
  std::optional<Duration> eta;       // Expected, not enforced.
  std::optional<Duration> limit;     // Enforced: counts time held.
  std::optional<Duration> wait_max;  // Absent: without bound. 0: granted now or refused.
  std::optional<Duration> ttl;       // A lease without a process, ended when it is not renewed.
  Leftovers leftovers = Leftovers::kWait;
  OverBudget over_budget = OverBudget::kNotify;
  bool may_yield = false;  // Its memory may be given to urgent requests.
  bool learned = false;    // As much as earlier runs of the command used, where that is known.
  std::vector<LeaseId> ancestors;           // Live leases the asker runs inside of (--new-lease).
  std::optional<CheckpointWay> checkpoint;  // It can be asked to save itself.
  /// It may be stopped, within this time, to wait in the queue and be started again.
  std::optional<Duration> requeue_grace;
};

}  // namespace berth
