// SPDX-License-Identifier: Apache-2.0
// The bodies of requests: what is said beside who asks, and of which lease. Programs send them, the
// daemon reads them (wire/request.h), and events carry them to the coordinator (core/event.h). Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/checkpoint.h"
#include "model/lease.h"
#include "model/request.h"

namespace berth {

/// A value that is well-formed and makes no sense.
struct BodyFault {
  std::string_view field;
  std::string_view why;
};

inline constexpr std::string_view kRestartsDoc =
    "How often the command was started again, this run included; 0 if absent. What is said for "
    "another run changes nothing.";

/// What a request says of its own will, also where that is the default. The rest is its tier's, or
/// what is allowed.
struct Named {
  bool priority = false;
  bool share = false;
};

/// POST /v1/leases and /v1/fit. A budget of 0 bytes means that nothing was said about memory.
struct RequestBody {
  Request request;
  Named named = {};
  std::optional<Process> anchor;  // What a lease without a command hangs on, beside its ttl.
};
constexpr auto fields_of(Is<RequestBody> auto*) {
  return fields({"Request", "What a session asks for. A field that is null counts as absent."},
                all_fields(&RequestBody::request),
                field("anchor", &RequestBody::anchor,
                      "What a lease without a command hangs on besides its ttl: its end ends the "
                      "lease."));
}

/// POST …/claim: the command that stands ready, and which start of it in this lease it is.
struct ClaimBody {
  Process command;
  std::uint32_t restarts = 0;
};
constexpr auto fields_of(Is<ClaimBody> auto*) {
  return fields({"Claim"}, all_fields(&ClaimBody::command),
                field("restarts", &ClaimBody::restarts, kRestartsDoc));
}

/// POST …/reconnect: for which start it waits.
struct ReconnectBody {
  std::uint32_t restarts = 0;
  bool keep = false;
};
constexpr auto fields_of(Is<ReconnectBody> auto*) {
  return fields({"Reconnect"}, field("restarts", &ReconnectBody::restarts, kRestartsDoc),
                field("keep", &ReconnectBody::keep,
                      "True: it becomes a job. It stays when its requester leaves, and is granted "
                      "while somebody is connected to it."));
}

/// POST …/exit
struct ExitBody {
  ExitStatus exit;
  std::vector<Process> leftovers;
  std::uint32_t restarts = 0;
  EndKind kind = EndKind::kPlain;
};
constexpr auto fields_of(Is<ExitBody> auto*) {
  constexpr std::size_t kLeftoversMax = 512;
  return fields({"Exit"}, all_fields(&ExitBody::exit),
                field("leftovers", &ExitBody::leftovers, "Its descendants that are still alive.")
                    .written(side::kBody)
                    .at_most(kLeftoversMax),
                field("restarts", &ExitBody::restarts, kRestartsDoc),
                field("kind", &ExitBody::kind,
                      "out_of_memory: its budget had refused it memory. final: it was not started, "
                      "or its user has ended it, and it is not started again. shutdown: it was "
                      "ended with the machine. Default: plain."));
}

/// POST …/park
struct ParkBody {
  bool parked = true;
};
constexpr auto fields_of(Is<ParkBody> auto*) {
  return fields(
      {"Park"},
      field("parked", &ParkBody::parked, "True: set aside. False: back in its place.").required());
}

/// POST …/hold
struct HoldBody {
  bool off = false;
};
constexpr auto fields_of(Is<HoldBody> auto*) {
  return fields({"Hold"},
                field("off", &HoldBody::off, "True: it may be granted again, in its place."));
}

constexpr std::optional<BodyFault> fault_of(const RequestEdit& edit) {
  if (edit == RequestEdit{}) return BodyFault{"priority", "and all other fields are missing"};
  if (edit.vram && edit.share == Share::kExclusive) {
    return BodyFault{"vram_bytes", "is not said of a whole GPU"};
  }
  return std::nullopt;
}

/// POST …/release
struct ReleaseBody {
  bool kill = false;
  bool detach = false;  // Its programs go on without it.
};
constexpr auto fields_of(Is<ReleaseBody> auto*) {
  return fields(
      {"Release"},
      field("kill", &ReleaseBody::kill, "End its processes too: SIGTERM, SIGKILL after 10 s."),
      field("detach", &ReleaseBody::detach,
            "Let its processes run on without a lease. Without this and `kill`, a lease "
            "whose processes run is not released (`running`), but for its own command."));
}
constexpr std::optional<BodyFault> fault_of(const ReleaseBody& body) {
  if (!body.kill || !body.detach) return std::nullopt;
  return BodyFault{"detach", "and kill contradict each other"};
}

/// POST …/resize. Bytes, or kExclusive, or a share and bytes.
struct ResizeBody {
  std::optional<Share> share;
  std::optional<Bytes> vram;         // On each device.
  std::optional<Duration> wait_max;  // Absent or 0: now or refused.
};
constexpr auto fields_of(Is<ResizeBody> auto*) {
  return fields(
      {"Resize"},
      field("share", &ResizeBody::share, "exclusive only while no other lease is on the GPU."),
      field("vram", &ResizeBody::vram, "On each GPU. Required unless share is given.").from(1),
      field("wait", &ResizeBody::wait_max,
            "How long a growth may wait. Default 0: granted now or refused."));
}
constexpr std::optional<BodyFault> fault_of(const ResizeBody& body) {
  if (body.share || body.vram) return std::nullopt;
  return BodyFault{"vram_bytes", "is missing"};
}

/// POST …/renew
struct RenewBody {
  Duration ttl;
};
constexpr auto fields_of(Is<RenewBody> auto*) {
  return fields({"Renew"}, field("ttl", &RenewBody::ttl, "From now on.").required().from(1));
}

/// POST …/progress
struct ProgressBody {
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total;
  std::optional<Duration> left;  // Absent: by how fast it goes.
  std::string note;              // For others to read.
  std::optional<double> loss = {};
  std::string phase = {};
};
constexpr auto fields_of(Is<ProgressBody> auto*) {
  return fields(
      {"Progress"}, field("done", &ProgressBody::done, "In whatever it counts.").required(),
      field("total", &ProgressBody::total, "Not less than is done."),
      field("left", &ProgressBody::left,
            "How long the rest takes, a year at most; left out: by how fast it goes."),
      field("note", &ProgressBody::note, "One line for others to read, of 200 bytes at most.")
          .of(TextForm::kLine),
      field("loss", &ProgressBody::loss, "Of the last step of a training."),
      field("phase", &ProgressBody::phase,
            "What it does now, in a word of its own, of 32 bytes at most.")
          .of(TextForm::kLine));
}

/// POST …/checkpoint
struct CheckpointBody {
  std::optional<Duration> wait_max;  // Absent: until it is over. 0: the answer comes at once.
};
constexpr auto fields_of(Is<CheckpointBody> auto*) {
  return fields({"Checkpoint"},
                field("wait", &CheckpointBody::wait_max,
                      "How long to wait for the end of the save; 0: not at all. Absent: until it "
                      "is over."));
}

/// POST …/checkpointed: how a save went.
struct CheckpointedBody {
  std::uint64_t number = 0;
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;
};
constexpr auto fields_of(Is<CheckpointedBody> auto*) {
  return fields(
      {"Checkpointed"},
      field("number", &CheckpointedBody::number, "Of the save, as the event told it.")
          .required()
          .from(1),
      field("outcome", &CheckpointedBody::outcome, "Only what was confirmed is saved.").required(),
      field("detail", &CheckpointedBody::detail, "For people, one line.").of(TextForm::kLine));
}

/// POST …/suspend and …/freeze. Empty, or {}: until it is resumed.
struct PauseBody {
  std::optional<Duration> lasts;  // Then it goes on by itself.
  std::string reason;             // For others to read.
};
constexpr auto fields_of(Is<PauseBody> auto*) {
  return fields(
      {"Pause"},
      field("for", &PauseBody::lasts, "Then it goes on by itself; else when it is resumed.")
          .from(1),
      field("reason", &PauseBody::reason, "One line, for others to read.").of(TextForm::kLine));
}

/// POST …/move: to as many devices as the lease is on, in the order of its parts.
struct MoveBody {
  std::vector<DeviceName> devices;
};
constexpr auto fields_of(Is<MoveBody> auto*) {
  return fields({"Move"}, field("devices", &MoveBody::devices,
                                "As many as the lease is on, in their order, and one at least.")
                              .written(side::kBody)
                              .at_most(256));
}
constexpr std::optional<BodyFault> fault_of(const MoveBody& body) {
  if (!body.devices.empty()) return std::nullopt;
  return BodyFault{"devices", "must name where the lease is to go on"};
}

/// POST …/requeue
struct RequeueBody {
  bool unsaved = false;
};
constexpr auto fields_of(Is<RequeueBody> auto*) {
  return fields({"Requeue"},
                field("unsaved", &RequeueBody::unsaved, "Also if its save is not confirmed."));
}

/// POST …/message: something is asked of its holder.
struct MessageBody {
  std::string text;
  std::optional<Duration> wait_max;  // Absent or 0: the answer is not waited for.
};
constexpr auto fields_of(Is<MessageBody> auto*) {
  return fields({"SendMessage"},
                field("text", &MessageBody::text,
                      "One line of 280 bytes at most, without letters that cannot be seen. "
                      "Everybody can read it.")
                    .required()
                    .of(TextForm::kTitle),
                field("wait", &MessageBody::wait_max,
                      "How long to wait for the answer of its holder; absent or 0: not at all."));
}

/// POST …/agree
struct AgreeBody {
  std::optional<std::uint64_t> number;
  std::optional<Duration> lasts;  // It is suspended for so long, too.
};
constexpr auto fields_of(Is<AgreeBody> auto*) {
  return fields(
      {"Agree"},
      field("number", &AgreeBody::number, "Of the message; absent: the only one that is open.")
          .from(1),
      field("pause", &AgreeBody::lasts, "Suspend the lease for so long; it goes on by itself.")
          .from(1));
}

/// POST …/refuse
struct RefuseBody {
  std::optional<std::uint64_t> number;
  std::string why;  // For others to read.
};
constexpr auto fields_of(Is<RefuseBody> auto*) {
  return fields(
      {"Refuse"},
      field("number", &RefuseBody::number, "Of the message; absent: the only one that is open.")
          .from(1),
      field("why", &RefuseBody::why, "One line of 280 bytes at most, for others to read.")
          .of(TextForm::kTitle));
}

/// POST /v1/dashboard
struct DashboardBody {
  bool read_only = false;
  bool revoke = false;
};
constexpr auto fields_of(Is<DashboardBody> auto*) {
  return fields({"OpenDashboard"},
                field("read_only", &DashboardBody::read_only, "The session may look, and not act."),
                field("revoke", &DashboardBody::revoke,
                      "Make no code: end all sessions and codes of the user who asks."));
}

/// Bodies that say nothing: cancel, requeuing, daemon stop and reload. Empty or {}.
struct NoBody {};
constexpr auto fields_of(Is<NoBody> auto*) {
  return fields({"Nothing", "Empty, or {}."});
}

/// All bodies that there are; that of POST …/join is a Process.
using AnyBody = std::variant<NoBody, RequestBody, Process, ClaimBody, ReconnectBody, ExitBody,
                             ParkBody, HoldBody, ReleaseBody, ResizeBody, RenewBody, ProgressBody,
                             CheckpointBody, CheckpointedBody, PauseBody, MoveBody, RequeueBody,
                             MessageBody, AgreeBody, RefuseBody, RequestEdit, DashboardBody>;

}  // namespace berth
