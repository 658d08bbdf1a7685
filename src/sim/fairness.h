// SPDX-License-Identifier: Apache-2.0
// `fair`, checked: what users and their sessions have had is added up from the journal, in another
// way than the coordinator does, and the queue must follow from it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/record.h"
#include "sim/observations.h"

namespace berth::sim {

class Fairness {
 public:
  /// Up to a record that is about to be applied what was held counts as it was before.
  void advance(const ReferenceModel& journal, Instant to);
  /// The next record is the first of another boot, whose instants begin anew.
  void rebooted() { rebooted_ = true; }
  /// Where a snapshot holds what no record told: what all had had is taken from it.
  void begin_anew(const std::vector<Record>& snapshot, const ReferenceModel& journal);
  /// The queue as the coordinator tells it. It may be a second old.
  std::string check_order(const Observations& observations, const std::vector<LeaseId>& queue,
                          Instant now) const;

 private:
  /// Byte-seconds, of which half is forgotten in an hour; and bytes held.
  struct Use {
    double had = 0;
    double held = 0;
    void advance(double seconds);
    double counts() const;
  };
  struct User {
    Use all;
    std::map<std::string, Use> sessions;
    bool many = false;  // More sessions than are told apart: they are not compared any more.
    void advance(double seconds);
  };
  using Users = std::map<UserId, User>;
  struct Wanted {
    UserId user;
    std::string session;
    double counts = 0;  // What a grant does at once.
  };
  static void note_held(const ReferenceModel& journal, Users& users);
  static std::string check_turns(Users users, const std::vector<Wanted>& queue);

  Users users_;
  Instant at_;
  bool rebooted_ = true;
};

}  // namespace berth::sim
