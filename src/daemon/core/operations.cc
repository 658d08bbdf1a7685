// SPDX-License-Identifier: Apache-2.0
#include "core/operations.h"

#include <array>
#include <cstddef>

#include "base/check.h"
#include "core/decider.h"

namespace berth::core {
namespace {

// Named, for sources are compiled together.
namespace operation_table {

// The operation is accepted, joins what is under way, or is refused, and why. What the schedule
// asks of itself needs no reason.
enum class Cell : std::uint8_t {
  kOk,
  kJoin,
  kNo,
  kNotHeld,
  kAskAnew,
  kTooSoon,
  kWaits,
  kQueued,
  kRevoked,
  kEnding,
  kEnded,
  kNoSaver,
  kNoMoves,
  kNoStops,
  kStuck,
  kMoving,
  kComing,
  kAway,
  kLater,
  kPaused,
  kFrozen,
  kHalting,
  kRequeue,
  kSaving,
};
using enum Cell;

// What follows «lease 7». «#» stands for the number, «@» for the detail.
constexpr std::array<const char*, 24> kReasons{
    "",
    "",
    " cannot now",
    " is not held",
    " is not held: a request that waits is cancelled and asked again",
    " has not begun yet: ask again when it has",
    " waits: there is nothing to save",
    " waits in the queue already",
    " was told to end",
    " is being ended",
    ": its command has ended",
    " has no program that could save itself",
    " has no processes whose memory could be moved",
    " has no processes that could be stopped",
    " is between two states: @",
    " is on the way: ask again when it is there",
    " is on the way back: ask again when it runs",
    " is suspended",
    " is suspended: it can be resized when it runs again (berth resume #)",
    " is paused: berth resume # first",
    " is frozen",
    " is just being stopped or let go on: ask again",
    " is on the way back into the queue",
    " saves itself: ask again when it has",
};
static_assert(kReasons.size() == static_cast<std::size_t>(kSaving) + 1);

using Row = std::array<Cell, 8>;

// clang-format off
//                      suspend    freeze     migrate    resize     save       requeue    room end
constexpr std::array<Row, 9> kByStage{{
    /* kWaiting     */ {kNotHeld,  kNotHeld,  kNotHeld,  kAskAnew,  kWaits,    kQueued,   kNo, kNo},
    /* kOffered     */ {kNotHeld,  kNotHeld,  kNotHeld,  kTooSoon,  kWaits,    kQueued,   kNo, kNo},
    /* kReleasing   */ {kNotHeld,  kNotHeld,  kNotHeld,  kAskAnew,  kEnding,   kEnded,    kNo, kNo},
    /* kRevoked     */ {kRevoked,  kRevoked,  kRevoked,  kOk,       kEnding,   kEnding,   kNo, kNo},
    /* kRuns        */ {kOk,       kOk,       kOk,       kOk,       kOk,       kOk,       kOk, kOk},
    /* kLeftBehind  */ {kOk,       kOk,       kOk,       kOk,       kEnded,    kEnded,    kNo, kOk},
    /* kOver        */ {kNoMoves,  kNoStops,  kNoMoves,  kOk,       kEnded,    kEnded,    kNo, kNo},
    /* kJoined      */ {kOk,       kOk,       kOk,       kOk,       kNoSaver,  kOk,       kNo, kOk},
    /* kEmpty       */ {kNoMoves,  kNoStops,  kNoMoves,  kOk,       kNoSaver,  kOk,       kNo, kNo},
}};
constexpr std::array<Row, 5> kByMemory{{
    /* kOnDevice    */ {kOk,       kOk,       kOk,       kOk,       kOk,       kOk,       kOk, kOk},
    /* kSwappingOut */ {kJoin,     kMoving,   kMoving,   kLater,    kAway,     kPaused,   kNo, kNo},
    /* kStuck       */ {kStuck,    kMoving,   kStuck,    kLater,    kAway,     kPaused,   kNo, kNo},
    /* kSuspended   */ {kJoin,     kOk,       kOk,       kLater,    kAway,     kPaused,   kNo, kNo},
    /* kSwappingIn  */ {kComing,   kMoving,   kMoving,   kLater,    kAway,     kPaused,   kNo, kNo},
}};
constexpr std::array<Row, 4> kByProcesses{{
    /* kRun         */ {kOk,       kOk,       kOk,       kOk,       kOk,       kOk,       kOk, kOk},
    /* kFreezing    */ {kHalting,  kJoin,     kHalting,  kOk,       kFrozen,   kPaused,   kNo, kNo},
    /* kFrozen      */ {kOk,       kOk,       kOk,       kOk,       kFrozen,   kPaused,   kOk, kOk},
    /* kThawing     */ {kHalting,  kMoving,   kHalting,  kOk,       kFrozen,   kPaused,   kNo, kNo},
}};
// One that saves itself is asked for no second save, and waits for the queue when it has.
constexpr std::array<Row, 3> kByRun{{
    /* kGoesOn      */ {kOk,       kOk,       kOk,       kOk,       kOk,       kOk,       kOk, kOk},
    /* kIsRequeued  */ {kRequeue,  kRequeue,  kRequeue,  kOk,       kRequeue,  kJoin,     kNo, kNo},
    /* kIsSaved     */ {kSaving,   kSaving,   kSaving,   kOk,       kJoin,     kOk,       kNo, kNo},
}};
// clang-format on

template <std::size_t kRows, class State>
Cell cell(const std::array<Row, kRows>& rows, State state, Operation operation) {
  return rows.at(static_cast<std::size_t>(state)).at(static_cast<std::size_t>(operation));
}

// Whatever else is under way, who asks for what is done already is not refused.
Verdict look_up(Operation operation, const Standing& standing) {
  const auto refuse = [](Cell cell) {
    return Verdict{.answer = Answer::kRefuse, .why = kReasons.at(static_cast<std::size_t>(cell))};
  };
  const Cell stage = cell(kByStage, standing.stage, operation);
  if (stage != kOk) return refuse(stage);
  Cell first = kOk;
  for (const Cell each :
       {cell(kByMemory, standing.memory, operation),
        cell(kByProcesses, standing.processes, operation), cell(kByRun, standing.run, operation)}) {
    if (each == kJoin) return {.answer = Answer::kJoin};
    if (first == kOk) first = each;
  }
  return first == kOk ? Verdict{} : refuse(first);
}

}  // namespace operation_table

Standing::Stage stage_of(const Lease& lease) {
  using enum Standing::Stage;
  if (lease.waiting() != nullptr) return kWaiting;
  const Held* held = lease.held();
  if (held == nullptr) return kReleasing;
  if (!held->claimed) return kOffered;
  if (held->revoked) return kRevoked;
  if (!held->command) return held->members.empty() ? kEmpty : kJoined;
  if (!held->command_ended) return kRuns;
  return held->members.empty() ? kOver : kLeftBehind;
}

Standing::Memory memory_of(const Held& held) {
  using enum Standing::Memory;
  if (!held.suspension) return kOnDevice;
  switch (held.suspension->phase) {
    case Suspension::Phase::kSwappingOut:
      return kSwappingOut;
    case Suspension::Phase::kSuspended:
      return kSuspended;
    case Suspension::Phase::kSwappingIn:
      return kSwappingIn;
  }
  return kOnDevice;
}

}  // namespace

Standing standing_of(const Lease& lease) {
  Standing standing{.stage = stage_of(lease)};
  const Held* held = lease.granted();
  if (held == nullptr) return standing;
  standing.memory = memory_of(*held);
  if (held->frozen) standing.processes = Standing::Processes::kFrozen;
  if (held->requeue) {
    standing.run = Standing::Run::kIsRequeued;
  } else if (lease.checkpoints.asked) {
    standing.run = Standing::Run::kIsSaved;
  }
  return standing;
}

Verdict verdict(Operation operation, const Standing& standing) {
  return operation_table::look_up(operation, standing);
}

std::string refusal_text(LeaseId id, const Verdict& verdict, const std::string& detail) {
  CHECK(verdict.answer == Answer::kRefuse);
  std::string text = text_of(id) + verdict.why;
  const std::size_t number = text.find('#');
  if (number != std::string::npos) text.replace(number, 1, std::to_string(id.value));
  const std::size_t place = text.find('@');
  if (place != std::string::npos) text.replace(place, 1, detail);
  return text;
}

std::optional<Refusal> refusal_of(Operation operation, const Lease& lease) {
  const Verdict answer = verdict(operation, standing_of(lease));
  if (answer.answer != Answer::kRefuse) return std::nullopt;
  return Refusal{RefusalCode::kWrongState, refusal_text(lease.id, answer)};
}

}  // namespace berth::core
