// SPDX-License-Identifier: Apache-2.0
// Costs of contexts on each device, learnt from the processes that have some: what the driver
// counts of a process beyond what it has charged for all else. What it has charged is its own word,
// so nobody is told what another user's processes have shown. As a text it outlives the daemon.
// Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/device.h"

namespace berth::server {

/// A process of a lease with contexts on a device, by its own account.
struct ContextLook {
  Handle lease;
  UserId user;
  DeviceId device;
  Process process;
  Bytes context;  // Charged for its contexts.
  Bytes beside;   // And for all else.
  std::uint64_t changes = 0;
  bool exact = true;       // The driver takes what is charged beside, and no less.
  bool unchanged = false;  // Nothing has changed while the driver was asked.
  friend bool operator==(const ContextLook&, const ContextLook&) = default;
};

class ContextCosts {
 public:
  static constexpr std::size_t kRemembered = 8;   // Processes for each model of device.
  static constexpr std::size_t kModelsMax = 256;  // Of all users, each under each driver.
  static constexpr std::size_t kTextMax = 96U << 10U;
  static constexpr Bytes kMost = gib(1);  // More is not a context's.
  static constexpr Bytes kPage = mib(2);  // What a context is charged is of whole ones.

  /// What the driver counts, and all processes that have contexts when it is asked.
  void look(const Sample& sample, const std::vector<ContextLook>& looks);

  /// What the first context of a process of this user costs on this device; nothing as long as none
  /// of theirs on its model was measured.
  std::optional<Bytes> of(UserId user, DeviceId device) const;
  /// The same, of all who have shown it on a device of this sample.
  std::vector<ContextSample> on(const Sample& sample) const;
  /// What no context of this lease costs more than; nothing as long as one was not measured.
  std::optional<Bytes> most(Handle lease, DeviceId device) const;

  /// What was learnt: of each user on each model of device under each driver. docs/store.md
  /// describes it.
  std::string to_text() const;
  /// At the start: what an earlier daemon had learnt. What cannot be read is passed over, and said.
  /// An earlier release's is of nobody in particular: it is believed of `own`, who runs the daemon.
  Status recall(std::string_view text, UserId own);

 private:
  using Key = std::tuple<Handle, DeviceId, Process>;
  struct Known {
    ContextLook look;
    std::optional<Bytes> measured;  // All that the driver counts of the process.
    std::optional<Bytes> cost;      // Of its contexts.
  };
  /// A model of device under a driver, as a user's processes know it.
  struct Model {
    UserId user;
    std::string driver;
    std::string name;
    friend auto operator<=>(const Model&, const Model&) = default;
  };
  using Costs = std::deque<std::pair<Process, Bytes>>;  // Of the last processes; oldest first.
  Costs& costs_of(const Model& model);
  void learn(const ContextLook& look, Bytes cost);

  std::string driver_;
  std::map<DeviceId, std::string> models_;
  std::map<Model, Costs> costs_;  // Of each, one or more.
  std::map<Key, Known> known_;
};

}  // namespace berth::server
