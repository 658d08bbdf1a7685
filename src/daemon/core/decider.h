// SPDX-License-Identifier: Apache-2.0
// Common ground of the parts of the coordinator: the state, and the only ways to change it. For
// src/daemon/core alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/effect.h"
#include "core/event.h"
#include "core/settings.h"
#include "core/state.h"

namespace berth::core {

/// The state changes by decide() alone. What is known beside it is each part's own, and dies with
/// the daemon. What a part has decided or learnt is passed on to the others by coordinator.cc, in
/// one order, through the virtual functions below.
class Decider {
 public:
  explicit Decider(Settings settings) : settings_(std::move(settings)) {}
  virtual ~Decider() = default;

  const Settings& settings() const { return settings_; }
  const State& state() const { return state_; }
  Now now() const { return now_; }
  /// Nothing is granted while nothing can be written down, or in safe mode.
  bool may_grant() const { return journal_full_where_.empty() && !safe_mode_; }
  /// The file, while it cannot be written; else empty.
  const std::string& journal_full_where() const { return journal_full_where_; }
  bool safe_mode() const { return safe_mode_; }
  const UserLimits& limits_of(UserId user) const;
  /// Grows whenever an answer about leases or devices may have changed.
  std::uint64_t version() const { return version_; }

  /// The lease that the actor may give orders to. Null: the requester was refused.
  const Lease* lease_of(Token token, Actor actor, Handle handle);
  const Lease* lease_of(Token token, Actor actor, LeaseId id);

  /// Records the fact, applies it, and derives what follows from it.
  void decide(LeaseId id, Fact fact);
  template <class Any>
  void emit(Any&& effect) {
    effects_.emplace_back(std::forward<Any>(effect));
  }
  void say(std::string text) { emit(Say{std::move(text)}); }
  /// At the end of the step, when all is decided: with the lease as it is then.
  void answer(Token token, LeaseId id) { answers_.emplace_back(token, id); }
  void refuse(Token token, Refusal refusal) { emit(Reply{token, std::move(refusal)}); }
  void refuse(Token token, RefusalCode code, std::string message) {
    refuse(token, Refusal{code, std::move(message)});
  }
  void notify(LeaseId id, LeaseEvent news, std::vector<Refusal> refusal = {}) {
    emit(Notify{id, news, std::move(refusal)});
  }
  /// Earlier than what was asked for last, or nothing is done.
  void ask_probe(Instant at);
  /// The schedule is looked at before the step ends.
  void look_again(bool needed = true) { dirty_ |= needed; }
  void changed() { ++version_; }
  /// The answer to the event under way tells the requester of the lease what becomes of it.
  void note_requester_of(LeaseId id) { asking_ = id; }
  bool hears_by_answer(LeaseId id) const { return asking_ == id; }

  /// Something of the lease that is not recorded has changed: what follows from it is derived anew.
  virtual void derive(LeaseId id) = 0;
  /// The same, of no more than the instant at which it is to be looked at.
  virtual void derive_deadline(LeaseId id) = 0;
  virtual void save_ended(LeaseId id) = 0;
  /// What it asks for is about to change: its places are made anew with the next derive().
  virtual void leave_queues(LeaseId id) = 0;
  /// What was learnt of the run that is over says nothing of the next one.
  virtual void forget_run(LeaseId id) = 0;

 protected:
  Decider(const Decider&) = default;
  Decider& operator=(const Decider&) = default;

  Settings settings_;
  State state_;
  std::string journal_full_where_;  // Not empty: nothing is granted.
  bool safe_mode_ = false;
  std::uint64_t version_ = 0;

  // Of the step under way.
  Now now_;
  std::vector<Effect> effects_;
  std::vector<std::pair<Token, LeaseId>> answers_;
  std::optional<LeaseId> asking_;
  bool dirty_ = false;
  std::optional<Instant> probe_at_;  // What was last asked for.
};

/// As messages name it.
inline std::string text_of(LeaseId id) {
  return "lease " + std::to_string(id.value);
}

/// The wall time of an instant, as seen from `now`.
inline UnixMs wall_at(Instant instant, Now now) {
  return {now.wall.value + (instant - now.instant).ns / 1'000'000};
}

}  // namespace berth::core
