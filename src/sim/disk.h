// SPDX-License-Identifier: Apache-2.0
// The journal's disk in a simulated world: records as the store's text gives them back, which
// outlive the daemon; writes that fail, find the disk full, or are torn by a death. What was
// acknowledged is there; what was not is there whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/record.h"
#include "sim/context.h"
#include "store/journal.h"

namespace berth::sim {

class Disk {
 public:
  explicit Disk(SimContext& context) : context_(context) {}

  /// As a daemon that starts opens its journal. `boot` counts the starts of the machine.
  Result<store::OpenedJournal> open(std::uint64_t boot);
  /// What such a daemon would read now.
  Result<store::Recovered> read(std::uint64_t boot) const;

  void fail_next() { fail_next_ = true; }
  void set_full(bool full) { full_ = full; }
  /// The daemon dies in its next write.
  void tear_next() { tear_next_ = true; }
  /// True once after a torn write.
  bool take_torn() { return std::exchange(torn_, false); }
  /// The last write changed what is stored, whatever it answered.
  bool wrote() const { return wrote_; }
  /// No more faults.
  void calm();

 private:
  class Door;

  Status append(std::span<const Record> records);
  Status replace(std::span<const Record> snapshot, std::uint64_t last_sequence);
  Status refuse();
  bool torn_away();
  // As it comes back from the text that the store writes. That takes long, and so happens once.
  void keep(std::span<const Record> written, std::vector<Record>& kept);

  SimContext& context_;
  std::vector<Record> snapshot_;
  std::vector<Record> records_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t boot_ = 0;       // Of the last write.
  std::uint64_t opened_in_ = 0;  // The boot of the daemon that holds it.
  bool fail_next_ = false;
  bool full_ = false;
  bool tear_next_ = false;
  bool torn_ = false;
  bool wrote_ = false;
};

}  // namespace berth::sim
