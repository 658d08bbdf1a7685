// SPDX-License-Identifier: Apache-2.0
// Writes the records of each step in one transaction, before anybody is told. What could not be
// written is kept in order and goes first next time; when too much is kept, a snapshot takes its
// place. It decides nothing: who is told what about a failure is the engine's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/record.h"
#include "server/ports.h"

namespace berth::server {

class JournalWriter {
 public:
  static constexpr std::size_t kSnapshotEvery = 10'000;  // Records.
  static constexpr std::size_t kUnwrittenMax = 10'000;   // Records; then only a snapshot helps.
  static constexpr Duration kRetryEvery = seconds(1);

  explicit JournalWriter(World& world) : world_(world) {}

  /// Writes what is kept from before, then these. All of it, or none.
  Status append(Instant now, std::vector<Record> records);
  /// Writes a whole state instead of records; what was kept is part of it.
  Status replace(Instant now, const std::vector<Record>& snapshot, std::uint64_t last_sequence);

  bool behind() const { return behind_; }
  /// Why the last write failed.
  const Error& trouble() const { return trouble_; }
  bool snapshot_due(Instant now) const;
  /// When to try again: append() with nothing, or replace() if snapshot_due().
  Instant retry_at() const { return behind_ ? retry_at_ : Instant::never(); }

 private:
  Status failed(Instant now, Error error);

  World& world_;
  std::vector<Record> unwritten_;
  bool behind_ = false;         // Some records of past steps are not written.
  bool only_snapshot_ = false;  // They were too many to keep.
  std::size_t since_snapshot_ = 0;
  Instant retry_at_;
  Error trouble_{};
};

}  // namespace berth::server
