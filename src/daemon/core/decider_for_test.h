// SPDX-License-Identifier: Apache-2.0
// For tests of one part: what it shares with the others, without them. Nothing follows from a
// decision but the record, and what was derived or told is counted.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/decider.h"

namespace berth::core {

class TestDecider : public Decider {
 public:
  explicit TestDecider(Settings settings = {}) : Decider(std::move(settings)) {
    now_ = {.instant = Instant{} + hours(1), .wall = UnixMs{1'000'000}};
  }

  /// The next lease: it waits.
  LeaseId queue(Request request, UserId user = {1000}) {
    const LeaseId id{state().next_id()};
    decide(id, RequestQueued{.id = id,
                             .handle = {0, id.value},
                             .user = user,
                             .supervisor = std::nullopt,
                             .request = std::move(request)});
    return id;
  }
  /// It is granted what it asked for on the device, and claimed.
  void run(LeaseId id, DeviceId device) {
    const Bytes budget = state().find(id)->request.vram;
    decide(id, LeaseGranted{.id = id, .parts = {{device, budget}}});
    decide(id, LeaseClaimed{.id = id, .command = Process{.pid = 7, .start_ticks = 1}});
  }
  void pass(Duration time) {
    now_.instant = now_.instant + time;
    now_.wall.value += time.ns / milliseconds(1).ns;
  }
  void set(Settings settings) { settings_ = std::move(settings); }
  std::vector<Effect> take_effects() { return std::exchange(effects_, {}); }
  /// The words of the facts that were recorded since, one after the other.
  std::string take_records() {
    std::string names;
    for (const Effect& effect : take_effects()) {
      const auto* append = std::get_if<Append>(&effect);
      if (append != nullptr) names += std::string(name_of(append->record.fact)) + "; ";
    }
    return names;
  }

  std::vector<LeaseId> derived;
  std::vector<LeaseId> saves_ended;

 private:
  void derive(LeaseId id) override { derived.push_back(id); }
  void derive_deadline(LeaseId id) override { derived.push_back(id); }
  void save_ended(LeaseId id) override { saves_ended.push_back(id); }
  void leave_queues(LeaseId) override {}
  void forget_run(LeaseId) override {}
};

}  // namespace berth::core
