// SPDX-License-Identifier: Apache-2.0
// Performs what vram::Batch decides: asks for the room there is, and remembers on disk which size
// has worked. Any thread; no lock is held over the disk or the driver.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "library/session.h"
#include "vram/batch.h"

namespace berth::library {

/// Where sizes are kept if nothing else is said; empty: there is no place.
std::string default_batch_directory();

/// The text of a file that remembers a size, and back. Absent: it is none, or of another program.
std::string remembered_text(const std::string& fingerprint, std::uint64_t micro);
std::optional<std::uint64_t> parse_remembered(const std::string& text,
                                              const std::string& fingerprint);

class Batch {
 public:
  struct Options {
    std::uint32_t device = 0;
    vram::BatchSettings settings;
    std::string fingerprint;  // Empty: nothing is remembered.
    std::string directory;
  };
  struct Plan {
    vram::BatchPlan plan;
    bool remembered = false;
    std::uint64_t failures = 0;
  };

  /// `session` may be null; it is shared with its handle.
  static Result<std::shared_ptr<Batch>> create(std::shared_ptr<Session> session,  // As said above.
                                               Options options);
  /// For create().
  Batch(std::shared_ptr<Session> session, Options options, vram::Batch batch,  // Likewise.
        bool remembered);

  Plan current();
  Result<Plan> out_of_memory();
  /// The error is that of remembering; the plan stands in current().
  Status step_done();

 private:
  Plan plan() const;
  std::optional<Bytes> room();
  Status remember(std::uint64_t micro) const;

  const std::shared_ptr<Session> session_;  // Null: none. Shared as said above.
  const Options options_;
  const bool remembered_;
  std::mutex mutex_;
  vram::Batch batch_;
  std::uint64_t written_ = 0;  // The size on disk, if it is ours.
};

/// What is free on the device and in the budget, the less; absent: unknown.
std::optional<Bytes> free_for_us(Session& session, std::uint32_t device);

}  // namespace berth::library
