// SPDX-License-Identifier: Apache-2.0
// Common ground of the parts of a simulated session: what it plans, which lease it has, how far it
// is, and how it asks the daemon for something beside its own connection.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/units.h"
#include "core/event.h"
#include "server/engine.h"
#include "server/ports.h"
#include "sim/env.h"
#include "sim/plan.h"
#include "sim/reference_model.h"

namespace berth::sim {

struct Client {
  enum class Phase : std::uint8_t {
    kAsking,    // Until the first answer.
    kWaiting,   // Until the grant.
    kClaiming,  // The command stands ready.
    kRunning,
    kHolding,  // A reservation.
    kReporting,
    kOver,
  };

  SimEnv& env;
  const SessionPlan plan;
  Phase phase = Phase::kAsking;
  LeaseId id;
  Handle handle;
  std::uint32_t restarts = 0;

  Random& random() const { return env.context.random; }
  template <class... Which>
  bool is(Which... which) const {
    return ((phase == which) || ...);
  }
  /// By the journal; null if it has ended, or was not written.
  const ReferenceLease* lease() const { return env.checker.journal().find(id); }
  /// As it asks for that of its lease, by whatever names it.
  template <class What>
  What about(What what) const {
    what.actor.user = plan.user;
    if constexpr (requires { what.lease; }) what.lease = id;
    if constexpr (requires { what.handle; }) what.handle = handle;
    if constexpr (requires { what.body.restarts; }) what.body.restarts = restarts;
    return what;
  }
  template <class What>
  void ask(const What& what, std::function<void(const server::Answer&)> answered = {}) const {
    env.network.ask_once(about(what), std::move(answered));
  }
  /// Perhaps the same call over a connection that it then gives up: it may arrive at any time, or
  /// never.
  template <class What>
  void ask_perhaps_twice(const What& what,
                         std::function<void(const server::Answer&)> answered = {}) const {
    if (meets(Fault::kMessageTwice)) ask(what);
    ask(what, std::move(answered));
  }
  bool meets(Fault fault) const;

  /// Not before the delay, and only if it is then still in that phase.
  void once(Duration delay, Phase at, std::function<void()> action) const;
  /// Each time after the delay, while it is in that phase and nobody is to finish.
  void again(std::optional<Duration> delay, Phase at, std::function<void()> action) const;
};

}  // namespace berth::sim
