// SPDX-License-Identifier: Apache-2.0
#include "server/journal_writer.h"

#include <iterator>
#include <utility>

namespace berth::server {

Status JournalWriter::append(Instant now, std::vector<Record> records) {
  since_snapshot_ += records.size();
  unwritten_.insert(unwritten_.end(), std::make_move_iterator(records.begin()),
                    std::make_move_iterator(records.end()));
  if (unwritten_.size() > kUnwrittenMax && behind_) {
    only_snapshot_ = true;
    unwritten_.clear();
  }
  if (only_snapshot_) {
    unwritten_.clear();
    return failed(now, {Errc::kFull, "more changes are unwritten than are kept"});
  }
  if (unwritten_.empty()) return Unit{};
  if (Status written = world_.append(unwritten_); !written.ok()) {
    return failed(now, written.error());
  }
  unwritten_.clear();
  behind_ = false;
  return Unit{};
}

Status JournalWriter::replace(Instant now, const std::vector<Record>& snapshot,
                              std::uint64_t last_sequence) {
  if (Status written = world_.replace(snapshot, last_sequence); !written.ok()) {
    retry_at_ = now + kRetryEvery;
    return written;
  }
  unwritten_.clear();
  behind_ = false;
  only_snapshot_ = false;
  since_snapshot_ = 0;
  return Unit{};
}

bool JournalWriter::snapshot_due(Instant now) const {
  if (behind_) return only_snapshot_ && now >= retry_at_;
  return since_snapshot_ >= kSnapshotEvery && now >= retry_at_;
}

Status JournalWriter::failed(Instant now, Error error) {
  behind_ = true;
  retry_at_ = now + kRetryEvery;
  trouble_ = error;
  return error;
}

}  // namespace berth::server
