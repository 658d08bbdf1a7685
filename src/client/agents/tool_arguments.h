// SPDX-License-Identifier: Apache-2.0
// Arguments of the tools that agents call, with the text that models read of each. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agents/facts.h"
#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/bodies.h"
#include "model/request.h"

namespace berth::agents {

/// A lease by its number, name, handle or the beginning of one.
using LeaseName = std::variant<std::uint64_t, std::string>;

inline constexpr std::uint32_t kWaitMostSeconds = 45;  // Clients give up after a minute.
inline constexpr std::uint32_t kMinutesMost = 7 * 24 * 60;
inline constexpr std::uint32_t kLinesMost = 200;
inline constexpr std::string_view kMemoryDoc = "On each GPU: 8G, 512M (binary units).";
inline constexpr std::string_view kLeaseDoc = "Number, name, or the beginning of a handle.";

struct StatusArguments {
  Detail detail = Detail::kBrief;
};
constexpr auto fields_of(Is<StatusArguments> auto*) {
  return fields({"StatusArguments"}, field("detail", &StatusArguments::detail,
                                           "full: also requests that wait, and names. Default: "
                                           "brief."));
}

/// How much is asked for.
struct RoomArguments {
  std::string memory;
  bool exclusive = false;
  std::uint32_t gpus = 1;
};
constexpr auto room_fields() {
  using R = RoomArguments;
  return fields(
      {}, field("memory", &R::memory, kMemoryDoc).of(TextForm::kLine),
      field("exclusive", &R::exclusive, "Instead of memory: whole GPUs, shared with nobody."),
      field("gpus", &R::gpus, "How many. Default: 1.").from(1).to(16));
}
constexpr auto fields_of(Is<RoomArguments> auto*) {
  return room_fields();
}
/// One of memory and exclusive is said, and memory is a size.
std::optional<BodyFault> fault_of(const RoomArguments& room);

struct AcquireArguments {
  RoomArguments room;
  std::string name;
  std::uint32_t minutes = 10;
  std::uint32_t wait_s = 30;
  std::optional<LeaseId> ticket;
  std::string key;
  Priority priority = Priority::kNormal;
};
constexpr auto fields_of(Is<AcquireArguments> auto*) {
  using A = AcquireArguments;
  return fields(
      {"AcquireArguments"}, all_fields(&A::room),
      field("name", &A::name, "What it is for, for others to read.").of(TextForm::kTitle),
      field("minutes", &A::minutes,
            "It ends so long after its last use, and does not while a program runs in it. "
            "Default: 10.")
          .from(1)
          .to(kMinutesMost),
      field("max_wait_s", &A::wait_s, "How long this call waits for a turn. Default: 30.")
          .to(kWaitMostSeconds),
      field("ticket", &A::ticket, "Of an earlier call that was queued: wait on for that.").from(1),
      field("key", &A::key, "Asked for again with the same key, it is the same lease.")
          .of(TextForm::kTitle),
      field("priority", &A::priority, "Default: normal."));
}
std::optional<BodyFault> fault_of(const AcquireArguments& arguments);

struct RenewArguments {
  LeaseName lease;
  std::optional<std::uint32_t> minutes;
  std::string memory;
  std::optional<std::uint64_t> done;
  std::optional<std::uint64_t> total;
  std::string note;
};
constexpr auto fields_of(Is<RenewArguments> auto*) {
  using R = RenewArguments;
  return fields(
      {"RenewArguments"}, field("lease", &R::lease, kLeaseDoc).required(side::kBody),
      field("minutes", &R::minutes, "Keep it so long from now on.").from(1).to(kMinutesMost),
      field("memory", &R::memory, "Change its budget: 8G, 512M.").of(TextForm::kLine),
      field("done", &R::done, "How far the work is, in whatever it counts."),
      field("total", &R::total, "Of how much."),
      field("note", &R::note, "With done: one line for others to read.").of(TextForm::kLine));
}
std::optional<BodyFault> fault_of(const RenewArguments& arguments);

struct ReleaseArguments {
  LeaseName lease;
};
constexpr auto fields_of(Is<ReleaseArguments> auto*) {
  return fields({"ReleaseArguments"},
                field("lease", &ReleaseArguments::lease, kLeaseDoc).required(side::kBody));
}

struct RunArguments {
  std::vector<std::string> command;
  std::optional<LeaseName> lease;
  RoomArguments room;
};
constexpr auto fields_of(Is<RunArguments> auto*) {
  using R = RunArguments;
  return fields({"RunArguments"},
                field("command", &R::command, "The program and its arguments, a word each.")
                    .required(side::kBody)
                    .at_most(256),
                field("lease", &R::lease, "In this lease of yours; left out: in one of its own."),
                all_fields(&R::room));
}

std::optional<BodyFault> fault_of(const RunArguments& arguments);

struct JobArguments {
  LeaseName job;
  std::uint32_t lines = 20;
};
constexpr auto fields_of(Is<JobArguments> auto*) {
  return fields({"JobArguments"}, field("job", &JobArguments::job, kLeaseDoc).required(side::kBody),
                field("lines", &JobArguments::lines, "The last ones of its log. Default: 20.")
                    .to(kLinesMost));
}

enum class Action : std::uint8_t { kPause, kResume, kCheckpoint, kCancel, kMove };
constexpr auto words_of(Action) {
  using enum Action;
  return make_words<Action>({{kPause, "pause"},
                             {kResume, "resume"},
                             {kCheckpoint, "checkpoint"},
                             {kCancel, "cancel"},
                             {kMove, "move"}});
}
struct ControlArguments {
  LeaseName lease;
  Action action = Action::kPause;
  std::vector<std::uint32_t> gpus;
};
constexpr auto fields_of(Is<ControlArguments> auto*) {
  using C = ControlArguments;
  return fields(
      {"ControlArguments"}, field("lease", &C::lease, kLeaseDoc).required(side::kBody),
      field("action", &C::action,
            "pause: its GPU memory goes to the host; checkpoint: its program saves itself; cancel: "
            "it ends, and its programs with it.")
          .required(side::kBody),
      field("gpus", &C::gpus, "With move: indexes of the GPUs where it goes on.").at_most(16));
}
std::optional<BodyFault> fault_of(const ControlArguments& arguments);

enum class Reply : std::uint8_t { kAgree, kRefuse };
constexpr auto words_of(Reply) {
  using enum Reply;
  return make_words<Reply>({{kAgree, "agree"}, {kRefuse, "refuse"}});
}
struct MessageArguments {
  LeaseName lease;
  std::string text;
  std::uint32_t wait_s = 0;
  std::optional<Reply> answer;
  std::optional<std::uint64_t> number;
  std::optional<std::uint32_t> pause_minutes;
};
constexpr auto fields_of(Is<MessageArguments> auto*) {
  using M = MessageArguments;
  return fields({"MessageArguments"}, field("lease", &M::lease, kLeaseDoc).required(side::kBody),
                field("text", &M::text,
                      "What is asked of its holder, one line: 6 GiB for 10 min. With refuse: why.")
                    .of(TextForm::kTitle),
                field("max_wait_s", &M::wait_s, "How long to wait for the answer. Default: 0.")
                    .to(kWaitMostSeconds),
                field("answer", &M::answer, "Of a lease of yours: what you say to who asked."),
                field("number", &M::number, "With answer: which message, of several.").from(1),
                field("pause_minutes", &M::pause_minutes,
                      "With agree: the lease gives its memory for so long.")
                    .from(1)
                    .to(kMinutesMost));
}
std::optional<BodyFault> fault_of(const MessageArguments& arguments);

}  // namespace berth::agents
