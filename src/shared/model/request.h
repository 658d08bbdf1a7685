// SPDX-License-Identifier: Apache-2.0
// Requests of sessions. A Request is plain data, checked for sense by the coordinator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/checkpoint.h"
#include "model/message.h"

namespace berth {

enum class Priority : std::uint8_t { kLow, kNormal, kHigh, kUrgent };
constexpr auto words_of(Priority) {
  using enum Priority;
  return make_words<Priority>(
      {{kLow, "low"}, {kNormal, "normal"}, {kHigh, "high"}, {kUrgent, "urgent"}});
}

/// kBudget: beside other budgets. kExclusive: no other lease on the device. kSlice: in turns.
enum class Share : std::uint8_t { kBudget, kExclusive, kSlice };
constexpr auto words_of(Share) {
  using enum Share;
  return make_words<Share>({{kBudget, "budget"}, {kExclusive, "exclusive"}, {kSlice, "slice"}});
}

/// What becomes of processes that outlive the command and still use the device.
enum class Leftovers : std::uint8_t { kWait, kKill, kRelease };
constexpr auto words_of(Leftovers) {
  using enum Leftovers;
  return make_words<Leftovers>({{kWait, "wait"}, {kKill, "kill"}, {kRelease, "release"}});
}

/// What becomes of a lease whose processes use more than its budget, by measurement. kFail:
/// nothing; what the guard lets fail is enough. kSuspend: what the ladder `over_budget` says.
enum class OverBudget : std::uint8_t { kFail, kNotify, kKill, kSuspend };
constexpr auto words_of(OverBudget) {
  using enum OverBudget;
  return make_words<OverBudget>(
      {{kFail, "fail"}, {kNotify, "notify"}, {kKill, "kill"}, {kSuspend, "suspend"}});
}

/// Whether a budget of which little is used falls by itself.
enum class Shrink : std::uint8_t { kNever, kAuto };
constexpr auto words_of(Shrink) {
  using enum Shrink;
  return make_words<Shrink>({{kNever, "never"}, {kAuto, "auto"}});
}

/// What becomes of a command that failed after its budget had refused it memory. kFail: what
/// becomes of any that fails. kGrow: once, it is started again with a larger budget.
enum class OnOom : std::uint8_t { kFail, kGrow };
constexpr auto words_of(OnOom) {
  using enum OnOom;
  return make_words<OnOom>({{kFail, "fail"}, {kGrow, "grow"}});
}

/// How a predecessor has to end. kFailed: otherwise than well, once it ran.
enum class Ends : std::uint8_t { kAny, kOk, kFailed };
constexpr auto words_of(Ends) {
  using enum Ends;
  return make_words<Ends>({{kAny, "any"}, {kOk, "ok"}, {kFailed, "failed"}});
}
/// A lease that has to end before a request starts.
struct Predecessor {
  LeaseId lease;
  Ends ends = Ends::kAny;
  friend bool operator==(const Predecessor&, const Predecessor&) = default;
};
constexpr auto fields_of(Is<Predecessor> auto*) {
  return fields({"Predecessor", "A lease that has to end before a request starts."},
                field("lease", &Predecessor::lease, "Its number.").required().from(1),
                field("ends", &Predecessor::ends, "How it has to end; any if nothing is said."));
}

/// Of a set of jobs, one.
struct SetMember {
  LeaseId set;
  std::uint32_t number = 0;  // From 1.
  friend bool operator==(const SetMember&, const SetMember&) = default;
};
constexpr auto fields_of(Is<SetMember> auto*) {
  return fields(
      {"SetMember", "Which one of a set a lease is."},
      field("set", &SetMember::set, "The number of the set.").required().from(1),
      field("number", &SetMember::number, "Of the member; the first is 1.").required().from(1));
}

/// An index in PCI order, or an identity.
using DeviceName = std::variant<std::uint32_t, DeviceId>;

struct Request {
  std::string name;     // Free text; empty: none.
  std::string session;  // Who works, for `fair`: BERTH_SESSION or the user's choice; may be empty.
  std::string command;  // As typed, for people to read.
  std::map<std::string, std::string> labels;
  Priority priority = Priority::kNormal;
  Share share = Share::kBudget;
  Bytes vram;                        // On each device; 0 with kExclusive.
  std::uint32_t device_count = 1;    // Used when `devices` is empty.
  std::uint32_t members = 0;         // Of a set: it is granted nothing itself. 0: it is none.
  std::vector<DeviceName> devices;   // Exactly these, if not empty.
  bool mixed = false;                // Devices of different models are fine.
  std::optional<Duration> eta;       // Expected, not enforced.
  std::optional<Duration> limit;     // Enforced: counts time held.
  std::optional<Duration> wait_max;  // Absent: without bound. 0: granted now or refused.
  std::optional<Duration> ttl;       // A lease without a process, ended when it is not renewed.
  Leftovers leftovers = Leftovers::kWait;
  OverBudget over_budget = OverBudget::kNotify;
  Shrink shrink = Shrink::kNever;
  OnOom on_oom = OnOom::kFail;
  bool may_yield = false;   // Its memory may be given to urgent requests.
  bool while_used = false;  // Its ttl counts from its last use.
  bool learned = false;     // As much as earlier runs of the command used, where that is known.
  std::vector<Predecessor> after;  // All of them have to end before it starts.
  std::optional<UnixMs> not_before;
  std::optional<SetMember> member;
  std::string tier;  // Kind of work; empty: none.
  std::string key;   // With which its user asks for it once; empty: as often as they ask.
  std::vector<LeaseId> ancestors;  // Live leases that it is asked for inside of (--new-lease).
  std::optional<CheckpointWay> checkpoint;  // It can be asked to save itself.
  /// It may be stopped, within this time, to wait in the queue and be started again.
  std::optional<Duration> requeue_grace;
  std::uint32_t retry_max = 0;            // A command that fails is started again so often.
  Duration retry_after = seconds(10);     // The first time after this; each time twice as long.
  std::optional<MessageRule> on_message;  // Absent: its holder answers by hand.
};
inline constexpr std::uint32_t kRetryMost = 1'000;
inline constexpr Duration kRetryAfterMost = hours(24);
inline constexpr Duration kRetryAfterBound = hours(1);  // Of what grows by itself.
inline constexpr std::string_view kAsAsked = "As asked for.";
// The coordinator's bounds are lower, its messages better.
inline constexpr std::size_t kRequestListMax = 256;
inline constexpr std::uint32_t kSetMembersMax = 100'000;
/// Whose it is, what it asks for, and for how long.
constexpr auto request_terms() {
  return fields(
      {},
      field("name", &Request::name,
            "Does not begin with a digit, '@' or 'l_'; no control characters, none that cannot be "
            "seen or that turn the direction of text.")
          .of(TextForm::kTitle),
      field("session", &Request::session, "Who works, for the order 'fair'.").of(TextForm::kTitle),
      field("command", &Request::command, "For people to read; at most 4096 bytes."),
      field("labels", &Request::labels, "Free pairs of text.").of(TextForm::kTitle),
      field("priority", &Request::priority,
            "Default: normal, or less where `max_priority` allows no more.")
          .required(side::kJournal),
      field("share", &Request::share, "Default: budget. exclusive: no other lease on the GPU.")
          .required(side::kJournal),
      field(
          "vram", &Request::vram,
          "On each GPU. Neither this nor share: what the configuration's policy.default_vram says.")
          .required(side::kJournal)
          .from(1),
      field("device_count", &Request::device_count,
            "How many GPUs, where `devices` names none. Default: 1.")
          .required(side::kJournal)
          .from(1),
      field("devices", &Request::devices, "Exactly these GPUs.").at_most(kRequestListMax),
      field("mixed", &Request::mixed, "GPUs of different models are fine.").shown(kAsAsked),
      field("eta", &Request::eta, "How long it is expected to run; not enforced.").from(1),
      field("limit", &Request::limit, "How long it may run; enforced.").from(1),
      field("wait", &Request::wait_max,
            "How long it waits. 0: granted now or refused. Null: without bound."),
      field("ttl", &Request::ttl,
            "For a lease without a command: it ends when it is not renewed within this.")
          .from(1));
}
/// How it behaves, and what may become of it.
constexpr auto request_ways() {
  return fields(
      {},
      field("leftovers", &Request::leftovers,
            "What becomes of processes that outlive the command and still use the GPU. "
            "Default: wait.")
          .required(side::kJournal)
          .option("--leftovers=WHAT", "what to do with GPU processes left after the command ends")
          .with_a_command()
          .shown(kAsAsked),
      field("over_budget", &Request::over_budget,
            "What becomes of it when its processes use more than its budget, by measurement; fail: "
            "nothing; suspend: what the ladder `over_budget` says. Default: notify.")
          .journal_after("learned")
          .shown(kAsAsked),
      field("may_yield", &Request::may_yield,
            "Its GPU memory may be given to urgent requests; it comes back after them.")
          .option("--yield", "give its GPU memory to urgent requests, and take it back after them")
          .with_a_command()
          .shown(kAsAsked),
      field("learned", &Request::learned,
            "As much as earlier runs of `command` used, where that is known; else what the other "
            "fields say.")
          .journal_after("ancestors")
          .shown("What it asks for follows from earlier runs of its command."),
      field("ancestors", &Request::ancestors, "Leases that the client runs inside of.")
          .from(1)
          .at_most(kRequestListMax),
      field("checkpoint", &Request::checkpoint,
            "The program can be asked to save itself, by whoever supervises it."),
      field(
          "requeue_grace", &Request::requeue_grace,
          "It may be stopped, to wait in the queue and be started again by whoever supervises it; "
          "it has so long to end, a day at most.")
          .from(1)
          .shown("As asked for; null: it may not be requeued."),
      field("shrink", &Request::shrink,
            "auto: its budget falls to what it has used at most and a margin, when that has been "
            "far less for ten minutes. Default: never.")
          .left_out(side::kJournal)
          .option("--shrink=HOW", "auto: give back what is far above its use; never is the default")
          .shown(kAsAsked),
      field("while_used", &Request::while_used,
            "Of a lease with a ttl: that does not run out while a process of it lives, and begins "
            "anew when the last one has ended.")
          .left_out(side::kJournal)
          .option("--while-used",
                  "DURATION begins anew each time that the last program in it has ended")
          .of_a_reservation()
          .shown(kAsAsked),
      field("after", &Request::after,
            "It starts when all of these have ended, and is refused as soon as one has ended "
            "otherwise, or before it ran.")
          .left_out(side::kJournal)
          .at_most(kRequestListMax)
          .shown(kAsAsked),
      field("not_before", &Request::not_before, "It does not start before this.")
          .left_out(side::kJournal)
          .shown(kAsAsked));
}
/// What it belongs to, and what is said for it.
constexpr auto request_belongings() {
  return fields(
      {},
      field("members", &Request::members,
            "It is a set of so many jobs, each of which is asked for by itself, as a member of it. "
            "It is granted nothing, and ends when all of them have.")
          .left_out(side::kJournal)
          .to(kSetMembersMax)
          .shown(kAsAsked),
      field("member", &Request::member, "Of a set that waits: it takes the place of that.")
          .left_out(side::kJournal)
          .shown("Of which set it is one."),
      field(
          "key", &Request::key,
          "Asked for again by the same user with the same key, it is refused with `exists` and the "
          "number of the first; one that ended without a grant does not count.")
          .of(TextForm::kTitle)
          .left_out(side::kJournal)
          .option("--key=KEY", "asked for again with the same key, it is the same request")
          .shown(kAsAsked),
      field("on_message", &Request::on_message,
            "What is said to messages without asking anybody, not twice within "
            "policy.message_every and not while it saves itself; absent: nothing.")
          .left_out(side::kJournal)
          .shown(kAsAsked),
      field("tier", &Request::tier,
            "Which kind of work it is: what it does not say of its priority, and whether it makes "
            "room, is what the configuration's tier.NAME says.")
          .of(TextForm::kTitle)
          .left_out(side::kJournal)
          .option("--tier=TIER",
                  "kind of work: complex, execution, fast or one's own; it decides "
                  "what is not said here")
          .shown(kAsAsked));
}
/// What becomes of it when its command fails.
constexpr auto request_retries() {
  return fields(
      {},
      field("retry_max", &Request::retry_max,
            "A command that fails is started again so often, by whoever supervises it.")
          .left_out(side::kJournal)
          .to(kRetryMost)
          .option("--retry=N", "start it again, N times at most, if it fails")
          .with_a_command()
          .shown(kAsAsked),
      field("retry_after", &Request::retry_after,
            "It waits so long before it is started again the first time, twice as long each "
            "further time, an hour at most. Default: 10 s.")
          .left_out(side::kJournal)
          .option("--retry-after=DURATION",
                  "wait so long before that, each time twice as long; 10 s is the default")
          .with_a_command()
          .shown(kAsAsked),
      field("on_oom", &Request::on_oom,
            "grow: if it fails and its budget has refused it memory, it is started again once, "
            "with a larger one; that is none of retry_max. Default: fail.")
          .left_out(side::kJournal)
          .shown(kAsAsked));
}
constexpr auto fields_of(Is<Request> auto*) {
  return request_terms() + request_ways() + request_belongings() + request_retries();
}

/// What is changed of a request while it waits. Absent: it stays as it is.
struct RequestEdit {
  std::optional<std::string> name;
  std::optional<Priority> priority;
  std::optional<Share> share;
  std::optional<Bytes> vram;  // On each device.
  std::optional<Duration> eta;
  std::optional<Duration> limit;
  std::optional<UnixMs> not_before;
  std::optional<std::string> command;  // As people read it: who starts it knows the words.
  friend bool operator==(const RequestEdit&, const RequestEdit&) = default;
};
constexpr auto fields_of(Is<RequestEdit> auto*) {
  using E = RequestEdit;
  return fields(
      {"Edit", "What is changed of a request. What is absent stays as it is."},
      field("name", &E::name, "As in a Request, as are the others.").of(TextForm::kTitle),
      field("priority", &E::priority), field("share", &E::share),
      field("vram", &E::vram, "On each GPU; of a whole GPU: a budget from now on.").from(1),
      field("eta", &E::eta).from(1), field("limit", &E::limit).from(1),
      field("not_before", &E::not_before, "A time that is past: at once, when it is its turn."),
      field("command", &E::command, "For people to read; at most 4096 bytes."));
}
/// The request as it is then.
inline Request edited(Request request, const RequestEdit& edit) {
  if (edit.name) request.name = *edit.name;
  request.priority = edit.priority.value_or(request.priority);
  if (edit.share || edit.vram) {
    const Share beside = request.share == Share::kSlice ? Share::kSlice : Share::kBudget;
    request.share = edit.share.value_or(beside);
    request.vram = request.share == Share::kExclusive ? Bytes{} : edit.vram.value_or(request.vram);
    request.learned = false;
  }
  if (edit.eta) request.eta = edit.eta;
  if (edit.limit) request.limit = edit.limit;
  if (edit.not_before) request.not_before = edit.not_before;
  if (edit.command) request.command = *edit.command;
  return request;
}

}  // namespace berth
