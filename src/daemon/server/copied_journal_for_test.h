// SPDX-License-Identifier: Apache-2.0
// A journal that keeps nothing and whose copies are done when a test says so. For tests; one
// thread.
#pragma once

#include <cstdint>
#include <span>

#include "store/journal.h"

namespace berth::server {

class CopiedJournal final : public store::Journal {
 public:
  Status append(std::span<const Record> /*records*/) override {
    ++written;
    return Unit{};
  }
  Status replace(std::span<const Record> /*snapshot*/, std::uint64_t /*last*/) override {
    return Unit{};
  }
  std::uint64_t last_sequence() const override { return written; }
  std::uint64_t sync() override {
    progress.trouble.reset();
    return written;
  }
  store::SyncProgress synced() override { return progress; }
  void mark_answered() override {}
  store::JournalFacts facts() const override { return {}; }

  std::uint64_t written = 1;
  store::SyncProgress progress;
};

}  // namespace berth::server
