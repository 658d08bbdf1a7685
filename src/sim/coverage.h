// SPDX-License-Identifier: Apache-2.0
// Coverage of a run: which faults were dealt, and what was written. Each kind of record counts, and
// each word and flag that a record of it can say: the tables of fields name them (base/fields.h). A
// simulator that no longer reaches one of them fails, instead of finding nothing for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "model/record.h"

namespace berth::sim {

enum class Fault : std::uint8_t {
  kClientHangsUp,       // The requester closes its connection and stays alive.
  kClientKilled,        // kill -9 of the requester.
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
constexpr auto words_of(Fault) {
  using enum Fault;
  return make_words<Fault>({{kClientHangsUp, "client hangs up"},
                            {kClientKilled, "client killed"},
                            {kCommandKilled, "command killed"},
                            {kNeverClaims, "never claims"},
                            {kIgnoresTerm, "ignores SIGTERM"},
                            {kOutlives, "child outlives command"},
                            {kDoubleFork, "double fork"},
                            {kMessageSlow, "message slow"},
                            {kMessageCut, "message cut"},
                            {kMessageTwice, "message twice"},
                            {kReaderStalls, "reader stalls"},
                            {kDaemonKilled, "daemon killed"},
                            {kDaemonKilledInside, "daemon killed inside"},
                            {kPowerCut, "power cut"},
                            {kWriteTorn, "write torn"},
                            {kWriteFails, "write fails"},
                            {kDiskFull, "disk full"},
                            {kWallJump, "wall time jumps"},
                            {kUnmanagedGrows, "unmanaged process grows"},
                            {kProbeSlow, "probe slow"},
                            {kProbeFails, "probe fails"},
                            {kDriverGone, "driver gone"},
                            {kDriverLies, "driver lies"},
                            {kDeviceLost, "device lost"},
                            {kSlowTeardown, "slow teardown"},
                            {kLeak, "leak"},
                            {kPidReused, "pid reused"},
                            {kSettingsChanged, "settings changed"},
                            {kMoveFails, "move fails"},
                            {kMoveCut, "move cut"}});
}
inline constexpr std::size_t kFaultCount = kWordsOf<Fault>.size();

/// What a record means only where it is written, or no record tells.
enum class Moment : std::uint8_t {
  kWithdrawn,      // Ended while it waited.
  kShrunk,         // Resized to no more on any device,
  kGrown,          // or to more.
  kRenewed,        // Not for the first time.
  kSuspendUndone,  // Resumed before it was away.
  kTurnTaken,      // On the way back for its next turn.
  kProgressTold,   // By its program.
};
constexpr auto words_of(Moment) {
  using enum Moment;
  return make_words<Moment>({{kWithdrawn, "withdrawn"},
                             {kShrunk, "shrunk"},
                             {kGrown, "grown"},
                             {kRenewed, "renewed"},
                             {kSuspendUndone, "suspend undone"},
                             {kTurnTaken, "turn taken"},
                             {kProgressTold, "progress told"}});
}

/// What can be reached, in this order: faults, moments, what records say.
class Coverage {
 public:
  Coverage();
  void dealt(Fault fault) { ++times_[static_cast<std::size_t>(fault)]; }
  void reached(Moment moment) { ++times_[kFaultCount + static_cast<std::size_t>(moment)]; }
  void wrote(const Fact& fact);

  /// How many, of any kind.
  std::uint64_t faults() const;
  const std::vector<std::uint64_t>& times() const { return times_; }
  friend bool operator==(const Coverage&, const Coverage&) = default;

 private:
  friend class CoverageOfSeeds;

  std::vector<std::uint64_t> times_;
};

/// How many seeds reached each, and how often in all.
class CoverageOfSeeds {
 public:
  CoverageOfSeeds();
  /// Only of machines with jobs everything is wanted.
  void add(const Coverage& coverage, bool has_jobs);
  /// The first that fewer than one seed in a hundred reached; empty if there is none.
  std::string missed() const;
  void print() const;
  /// As of a seed that reached all but this.
  static Coverage all_but(std::string_view name);
  /// How often each fault was dealt, in one line: "NAME TIMES, ...".
  std::string faults_told() const;

 private:
  enum class Wanted : std::uint8_t { kYes, kWithJobs, kNo };
  struct Row {
    std::string name;
    Wanted wanted = Wanted::kYes;
    std::uint64_t seeds = 0;
    std::uint64_t times = 0;
  };
  std::uint64_t seeds_ = 0;
  std::uint64_t with_jobs_ = 0;  // Of those.
  std::vector<Row> rows_;
};

}  // namespace berth::sim
