// SPDX-License-Identifier: Apache-2.0
// Coverage of a run: which faults were dealt and through which transitions leases went. A simulator
// that no longer reaches one of them fails, instead of finding nothing for ever.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::sim {

enum class Fault : std::uint8_t {
  kClientHangsUp,       // The asker closes its connection and stays alive.
  kClientKilled,        // kill -9 of the asker.
  kCommandKilled,       // kill -9 of the command.
  kNeverClaims,         // An offer is not taken up.
  kIgnoresTerm,         // A revoked command lives until SIGKILL.
  kOutlives,            // A child holds device memory after the command has ended.
  kDoubleFork,          // A child whose parent has gone.
  kMessageSlow,         // Takes seconds from one side to the other.
  kMessageCut,          // The connection breaks when half of a call has arrived.
  kMessageTwice,        // A call is repeated over a second connection.
  kReaderStalls,        // A client does not take its news.
  kDaemonKilled,        // Between two events.
  kDaemonKilledInside,  // Between two effects of one event.
  kPowerCut,            // Everything ends, and instants begin anew.
  kWriteTorn,           // The daemon dies in the middle of a write.
  kWriteFails,          // One write reports an error.
  kDiskFull,            // Every write does, for a while.
  kWallJump,            // Wall time is set.
  kUnmanagedGrows,      // A process of no lease takes device memory.
  kProbeSlow,           // The driver answers late.
  kProbeFails,          // The probe misses its deadline, or its child dies.
  kDriverGone,          // The driver answers that there are no devices.
  kDriverLies,          // A process is missing from the list, or its figure or the total is.
  kDeviceLost,          // A GPU falls off the bus, and comes back.
  kSlowTeardown,        // Memory is freed well after its process has ended.
  kLeak,                // The same, for longer than anybody waits for it.
  kPidReused,           // A pid comes back at once, as another process.
  kSettingsChanged,     // Another order, reserve or patience in the middle of it all.
  kMoveFails,           // The driver refuses to move memory, and nothing changes.
  kMoveCut,             // A mover ends with its daemon, at any point of its work.
};
inline constexpr std::size_t kFaultCount = 30;

enum class Transition : std::uint8_t {
  kQueued,
  kPassed,
  kParked,
  kUnparked,
  kWithdrawn,  // Ended while waiting.
  kGranted,
  kGrantedPassing,  // Before a request that was ahead of it.
  kLapsed,
  kClaimed,
  kShrunk,
  kGrown,
  kGrowthQueued,
  kGrowthDropped,
  kRenewed,
  kMemberSeen,
  kMemberGone,
  kCommandEnded,
  kRevoked,
  kReleasing,
  kSaveAsked,
  kSaveEnded,
  kEndedOk,
  kEndedFailed,
  kEndedKilled,
  kEndedCancelled,
  kEndedLimit,
  kEndedRefused,
  kEndedLost,
  kEndedOverBudget,
  kEndedDetached,
  kSuspendBegun,
  kSuspended,
  kSuspendUndone,
  kResumeQueued,
  kResumeBegun,
  kResumed,
  kRequeueAsked,
  kRequeueBegun,
  kRequeueDropped,
  kRequeued,
  kFrozen,
  kThawed,
  kTurnEnded,  // Suspended because its turn was over,
  kTurnTaken,  // and on the way back for the next.
  kMeasureBegun,
  kMeasureConfirmed,
  kMeasureFailed,
  kMeasureRefused,
  kPaused,
  kMoved,         // To other devices.
  kProgressTold,  // By its program.
};
inline constexpr std::size_t kTransitionCount = 51;

std::string_view to_text(Fault fault);
std::string_view to_text(Transition transition);

class Coverage {
 public:
  void dealt(Fault fault) { ++faults_[static_cast<std::size_t>(fault)]; }
  void reached(Transition transition) { ++transitions_[static_cast<std::size_t>(transition)]; }

  std::uint64_t faults() const;
  const std::array<std::uint64_t, kFaultCount>& by_fault() const { return faults_; }
  const std::array<std::uint64_t, kTransitionCount>& by_transition() const { return transitions_; }

 private:
  std::array<std::uint64_t, kFaultCount> faults_{};
  std::array<std::uint64_t, kTransitionCount> transitions_{};
};

/// How many seeds reached each, and how often in all.
class CoverageOfSeeds {
 public:
  void add(const Coverage& coverage);
  /// The first that fewer than one seed in a hundred reached; empty if there is none.
  std::string_view missed() const;
  void print() const;
  /// How often each fault was dealt, in one line: "NAME TIMES, ...".
  std::string faults_told() const;

 private:
  struct Row {
    std::uint64_t seeds = 0;
    std::uint64_t times = 0;
  };
  std::uint64_t seeds_ = 0;
  std::array<Row, kFaultCount> faults_{};
  std::array<Row, kTransitionCount> transitions_{};
};

}  // namespace berth::sim
