// SPDX-License-Identifier: Apache-2.0
#include "sim/disk.h"

#include <fmt/core.h>

#include <optional>

#include "model/record_json.h"

namespace berth::sim {

/// One daemon's hold on the disk.
class Disk::Door final : public store::Journal {
 public:
  explicit Door(Disk& disk) : disk_(disk) {}

  Status append(std::span<const Record> records) override { return disk_.append(records); }
  Status replace(std::span<const Record> snapshot, std::uint64_t last_sequence) override {
    return disk_.replace(snapshot, last_sequence);
  }
  std::uint64_t last_sequence() const override { return disk_.last_sequence_; }
  // Whatever was written survives: a power cut ends every lease in any case.
  std::uint64_t sync() override { return ++syncs_; }
  store::SyncProgress synced() override { return {.done = syncs_, .trouble = std::nullopt}; }
  void mark_answered() override {}
  store::JournalFacts facts() const override {
    return {.path = "sim",
            .last_sequence = disk_.last_sequence_,
            .snapshot_count = disk_.snapshot_.size(),
            .record_count = disk_.records_.size()};
  }

 private:
  Disk& disk_;
  std::uint64_t syncs_ = 0;
};

Result<store::OpenedJournal> Disk::open(std::uint64_t boot) {
  TRY(recovered, read(boot));
  opened_in_ = boot;
  return store::OpenedJournal{.journal = std::make_unique<Door>(*this),
                              .recovered = std::move(recovered)};
}

Result<store::Recovered> Disk::read(std::uint64_t boot) const {
  store::Recovered recovered;
  recovered.snapshot = snapshot_;
  recovered.records = records_;
  recovered.same_boot = boot_ == 0 || boot_ == boot;
  return recovered;
}

Status Disk::refuse() {
  wrote_ = false;
  if (full_) return Error{Errc::kFull, "sim: no space left on device"};
  if (std::exchange(fail_next_, false)) {
    context_.record_fault(Fault::kWriteFails);
    return Error{Errc::kIo, "sim: input/output error"};
  }
  return Unit{};
}

// A transaction is there whole or not at all, however its writer ends.
bool Disk::torn_away() {
  if (!std::exchange(tear_next_, false)) return false;
  context_.record_fault(Fault::kWriteTorn);
  torn_ = true;
  return context_.random.chance(500);
}

void Disk::keep(std::span<const Record> written, std::vector<Record>& kept) {
  for (const Record& record : written) {
    const std::string text = to_json(record);
    context_.wrote(text);
    Result<Record> again = parse_record(text);
    if (!again.ok())
      return context_.fail("what was written cannot be read: " + again.error().message);
    kept.push_back(*std::move(again));
  }
}

Status Disk::append(std::span<const Record> records) {
  TRY_STATUS(refuse());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].sequence == last_sequence_ + 1 + i) continue;
    return Error{Errc::kCorrupt, fmt::format("record {} cannot follow record {}",
                                             records[i].sequence, last_sequence_ + i)};
  }
  if (torn_away()) return Unit{};
  keep(records, records_);
  last_sequence_ += records.size();
  boot_ = opened_in_;
  wrote_ = true;
  return Unit{};
}

Status Disk::replace(std::span<const Record> snapshot, std::uint64_t last_sequence) {
  TRY_STATUS(refuse());
  if (torn_away()) return Unit{};
  snapshot_.clear();
  keep(snapshot, snapshot_);
  records_.clear();
  last_sequence_ = last_sequence;
  boot_ = opened_in_;
  wrote_ = true;
  return Unit{};
}

void Disk::calm() {
  full_ = false;
  fail_next_ = false;
  tear_next_ = false;
}

}  // namespace berth::sim
