// SPDX-License-Identifier: Apache-2.0
// Messages to the holder of a lease as the simulator knows them: a user has one open message of a
// lease, the holder answers, or a rule of theirs, or none within the hour. Nothing here is taken
// from src/daemon/core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/ids.h"
#include "base/units.h"
#include "model/lease.h"
#include "model/record.h"

namespace berth::sim {

struct ReferenceLease;

/// As the journal tells them.
class ReferenceMessages {
 public:
  bool begin(const MessageSent& fact, Instant at);
  /// The lease is that of whose messages these are.
  bool end(const MessageAnswered& fact, const ReferenceLease& lease, Instant at);
  void restore(const LeaseView& view);

  /// Of those that nobody has answered: how many, and the number of the first; 0: there is none.
  std::size_t count() const { return open_.size(); }
  std::uint64_t first() const { return open_.empty() ? 0 : open_.begin()->first; }
  /// When the first of them lapses; never where there is none.
  Instant due() const;

 private:
  struct Open {
    UserId from;
    Instant sent;
  };
  std::map<std::uint64_t, Open> open_;
  std::uint64_t last_number_ = 0;
};

}  // namespace berth::sim
