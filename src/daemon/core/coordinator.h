// SPDX-License-Identifier: Apache-2.0
// The coordinator decides which session may hold how much of which device. It is a pure state
// machine: no clock, thread, file or socket. The daemon hands it events and performs the effects it
// returns; the simulator does exactly the same, which is why what is tested is what runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/settings.h"
#include "model/lease.h"
#include "model/record.h"
#include "model/refusal.h"
#include "model/view.h"

namespace berth::core {

class Coordinator {
 public:
  explicit Coordinator(Settings settings);
  ~Coordinator();
  Coordinator(Coordinator&&) noexcept;
  Coordinator& operator=(Coordinator&&) noexcept;

  /// Recovery: applies one record of the journal. One that does not fit changes nothing and is
  /// returned as an error to be said aloud; the rest goes on.
  Status apply(const Record& record);

  /// Decides one event. Total: every event in every state has an answer, and none blocks.
  std::vector<Effect> step(Now now, const Event& event);

  /// Records that rebuild this state when applied to an empty one. Sequence numbers are 0.
  std::vector<Record> snapshot(Now now) const;
  /// The sequence number of the last record that was applied or decided.
  std::uint64_t last_sequence() const;

  // Questions; none changes anything.
  std::vector<LeaseView> leases(Now now) const;  // Live ones, by id.
  std::vector<LeaseView> ended(Now now) const;   // Those still remembered, by end.
  std::optional<LeaseView> lease(LeaseId id, Now now) const;
  /// What its program has told of itself, oldest first.
  const std::vector<ProgressPoint>& progress(LeaseId id) const;
  /// An id, a handle, a name, or a prefix of at least three characters of one of the latter two; of
  /// a handle only for whom it is no secret, else it could be guessed letter by letter.
  std::variant<LeaseId, Refusal> find(std::string_view text, Actor actor) const;
  std::optional<LeaseId> find(Handle handle) const;
  std::vector<DeviceView> devices(Now now) const;
  std::vector<LeaseId> queue(Now now) const;  // Waiting ones, next first.
  /// Without remedies, which take more than a look: many listen to why they wait.
  std::optional<WhyView> why(LeaseId id, Now now) const;
  /// What would become of this request if it were made now. Without remedies, too.
  std::variant<FitView, Refusal> fit(const Request& request, Actor actor, Now now) const;
  /// What would let a waiting request start. Each was carried out in a copy, and it started there.
  std::vector<Remedy> remedies(LeaseId id, Now now) const;
  std::vector<Remedy> remedies(const Request& request, Actor actor, Now now) const;
  /// One that decides as this one would from here on. Of what is over it knows nothing.
  Coordinator copy() const;
  /// What the request of this user does not say follows from its tier, and its priority is no
  /// higher than they may ask for. `named`: what it says itself.
  void fill_defaults(Request& request, Named named, UserId user) const;
  /// What a CUDA context costs this user there, or is taken to cost as long as none was measured.
  Bytes context_cost(UserId user, DeviceId device) const;
  /// Grows whenever an answer to fit() may have changed.
  std::uint64_t ledger_version() const;
  /// Leases that have ended, or whose command has: what the next sample says of them counts.
  std::vector<Handle> settling() const;
  /// Why there are no devices; empty if there are, or if nothing is known yet.
  std::string trouble() const;

  /// Recounts every sum from nothing and compares. The step checks only what it touched.
  void check_everything() const;
  /// For tests: from now on no request in a pass is left out because it cannot be granted anyway.
  /// What is decided is the same.
  void take_no_shortcuts();

 private:
  struct Impl;
  class Trial;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::core
