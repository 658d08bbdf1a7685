// SPDX-License-Identifier: Apache-2.0
// Which operation a lease accepts in which state: one table for all, in operations.cc. What depends
// on figures (is there room, is the driver new enough) is decided by the part that carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/state.h"
#include "model/refusal.h"

namespace berth::core {

/// What is asked of a lease: by its user, but for the last two, which the schedule asks.
enum class Operation : std::uint8_t {
  kSuspend,
  kFreeze,
  kMigrate,
  kResize,
  kSave,
  kRequeue,
  kMakeRoom,
  kEndTurn,
};

/// The state of a lease, as far as operations go: four things that change independently.
struct Standing {
  enum class Stage : std::uint8_t {
    kWaiting,
    kOffered,
    kReleasing,
    kRevoked,
    kRuns,        // Its command does.
    kLeftBehind,  // Its command has ended; processes that it started have not.
    kOver,        // Nor they.
    kJoined,      // It has no command, and processes joined it.
    kEmpty,       // It has no process.
  };
  enum class Memory : std::uint8_t { kOnDevice, kSwappingOut, kStuck, kSuspended, kSwappingIn };
  enum class Processes : std::uint8_t { kRun, kFreezing, kFrozen, kThawing };
  enum class Run : std::uint8_t { kGoesOn, kIsRequeued, kIsSaved };

  Stage stage = Stage::kWaiting;
  Memory memory = Memory::kOnDevice;
  Processes processes = Processes::kRun;
  Run run = Run::kGoesOn;
};

/// By what is recorded. Whether its memory is stuck and whether it is being frozen or thawed is
/// known to Transfers, whose standing_of() tells that as well.
Standing standing_of(const Lease& lease);

enum class Answer : std::uint8_t { kAccept, kJoin, kRefuse };

struct Verdict {
  Answer answer =
      Answer::kAccept;   // kJoin: it is under way or done, and this request shares in it.
  const char* why = "";  // Of a refusal. For refusal_text().
};
Verdict verdict(Operation operation, const Standing& standing);

/// «lease 7 is not held». The detail is what the world told, where the reason has a place for it.
std::string refusal_text(LeaseId id, const Verdict& verdict, const std::string& detail = {});

/// By what is recorded alone. Absent: it is accepted, or joins.
std::optional<Refusal> refusal_of(Operation operation, const Lease& lease);

}  // namespace berth::core
