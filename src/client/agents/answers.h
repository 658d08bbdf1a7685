// SPDX-License-Identifier: Apache-2.0
// Answers of the tools that agents call. Beside each of them stands text of one to five lines with
// the same facts (sentences.h). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/facts.h"
#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/message.h"

namespace berth::agents {

enum class Turn : std::uint8_t { kGranted, kQueued };
constexpr auto words_of(Turn) {
  using enum Turn;
  return make_words<Turn>({{kGranted, "granted"}, {kQueued, "queued"}});
}
struct AcquireAnswer {
  Turn state = Turn::kQueued;
  LeaseFacts lease;
  std::string run_with;
  std::optional<LeaseId> ticket;
  std::optional<UnixMs> expected_start;
  std::vector<Blocker> blockers;
};
constexpr auto fields_of(Is<AcquireAnswer> auto*) {
  using A = AcquireAnswer;
  return fields({"Acquired", "Memory that was granted, or a place in the queue."},
                field("state", &A::state, "queued: call again with the ticket."),
                field("lease", &A::lease, "The lease, or the request that waits."),
                field("run_with", &A::run_with,
                      "What runs a command in it, from any shell; null while it waits."),
                field("ticket", &A::ticket, "While it waits: for the next call."),
                field("expected_start", &A::expected_start, "Null: not known."),
                field("blockers", &A::blockers, "Who holds what it waits for."));
}

struct RunAnswer {
  std::string run_with;
  std::optional<LeaseId> job;
};
constexpr auto fields_of(Is<RunAnswer> auto*) {
  return fields(
      {"Run", "How to run it."},
      field("run_with", &RunAnswer::run_with, "The line for your own shell; null: it was started."),
      field("job", &RunAnswer::job, "For gpu_job; null: it is for you to start."));
}

/// What this server does for its client, and what it does not.
struct PolicyFacts {
  bool starts_commands = false;
  ReadMessages messages = ReadMessages::kOwn;
  Duration wait_most = {};
  Duration kept_unused = {};
};
constexpr auto fields_of(Is<PolicyFacts> auto*) {
  using P = PolicyFacts;
  return fields({"Policy", "What this server does for you."},
                field("starts_commands", &P::starts_commands, "gpu_run starts them."),
                field("messages", &P::messages, "Whose messages you are given to read."),
                field("wait_most", &P::wait_most, "How long a call may wait."),
                field("kept_unused", &P::kept_unused,
                      "How long a lease is kept that nothing runs in, unless minutes say so."));
}

struct JobAnswer {
  LeaseFacts job;
  std::vector<std::string> log;
  bool is_news = true;
};
constexpr auto fields_of(Is<JobAnswer> auto*) {
  using J = JobAnswer;
  return fields({"Job", "How a job of yours stands."}, field("job", &J::job, "Its lease."),
                field("log", &J::log, "The last lines of what its program printed: data."),
                field("news", &J::is_news, "False: nothing has changed since it was asked last."));
}

struct ControlAnswer {
  LeaseFacts lease;
  bool is_under_way = false;
  std::optional<Said> save;
};
constexpr auto fields_of(Is<ControlAnswer> auto*) {
  using C = ControlAnswer;
  return fields({"Controlled", "What came of it."}, field("lease", &C::lease, "As it stands now."),
                field("under_way", &C::is_under_way, "It takes longer than one call may."),
                field("save", &C::save, "What its program said of its save."));
}

struct MessageReply {
  std::uint64_t number = 0;
  std::optional<MessageAnswer> answer;
  std::optional<Said> why;
  LeaseFacts lease;
};
constexpr auto fields_of(Is<MessageReply> auto*) {
  using M = MessageReply;
  return fields({"Sent", "A message, and what its holder answered."},
                field("number", &M::number, "Of the message."),
                field("answer", &M::answer, "Null: none yet."),
                field("why", &M::why, "As the holder says."),
                field("lease", &M::lease, "As it stands now."));
}

}  // namespace berth::agents
