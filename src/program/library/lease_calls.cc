// SPDX-License-Identifier: Apache-2.0
// The C functions of a session's lease, and of what is asked of it. Any thread.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "base/size_argument.h"
#include "berth/berth.h"
#include "library/daemon.h"
#include "library/error.h"
#include "library/handles.h"
#include "library/lease.h"
#include "library/lease_variables.h"
#include "library/session.h"
#include "wire/limits.h"
#include "wire/request.h"

namespace berth::library {
namespace {

constexpr Duration kAnswerWithin = seconds(30);
constexpr std::size_t kDetailMax = 200;

Duration duration_ms(std::uint64_t ms) {
  const auto most = static_cast<std::uint64_t>(wire::limits::kDurationMax.ns / milliseconds(1).ns);
  return milliseconds(static_cast<std::int64_t>(std::min(ms, most)));
}

Acquisition acquisition_of(const berth_request& request) {
  Acquisition wish{.vram = {request.vram_bytes},
                   .devices = std::max<std::uint32_t>(1, request.devices),
                   .wait_max = {},
                   .eta = {},
                   .grace = {},
                   .name = request.name == nullptr ? "" : request.name};
  if (request.wait_ms != BERTH_NO_END) wish.wait_max = duration_ms(request.wait_ms);
  if (request.eta_ms > 0) wish.eta = duration_ms(request.eta_ms);
  if (request.grace_ms > 0) wish.grace = duration_ms(request.grace_ms);
  return wish;
}

// The least of its devices', as BERTH_VRAM_BYTES has it; a resize has come since, perhaps.
std::optional<Bytes> budget_of(const LeaseView& lease) {
  std::optional<Bytes> budget;
  for (const LeasePart& part : lease.parts) {
    budget = budget ? std::min(*budget, part.granted) : part.granted;
  }
  return budget;
}

Status join(const LeaseEnvironment& lease, std::optional<Bytes> budget, const Acquisition& wish) {
  if (!budget || wish.vram <= *budget) return Unit{};
  const std::string number = std::to_string(lease.number);
  return Error{Errc::kConflict, "this process is inside lease " + number + " (" + to_text(*budget) +
                                    "): berth resize " + number + " -m " +
                                    size_argument_above(wish.vram)};
}

Ending acquire(const berth_session_options* options, const berth_request* request,
               berth_session* session) {
  if (session == nullptr) return fail(BERTH_INVALID, "session is null");
  *session = 0;
  TRY(given, read_sized(request, "request"));
  const Acquisition wish = acquisition_of(given);
  auto before = LeaseVariables::Before::kNoLease;
  if (const auto outer = lease_of_environment()) {
    const auto held = Daemon::at(outer->socket).held(outer->handle, kAnswerWithin);
    if (!held.ok() || *held) {  // A daemon that is away comes back, and the lease with it.
      TRY_STATUS(join(*outer, held.ok() ? budget_of(checked(*held)) : outer->budget, wish));
      return berth_attach(options, session);
    }
    before = LeaseVariables::Before::kLeaseThatIsOver;
  }
  TRY(daemon, Daemon::find());
  TRY(lease, daemon.acquire(wish));
  auto variables = LeaseVariables::set(lease, daemon.socket(), before);
  const berth_status attached = berth_attach(options, session);
  if (attached != BERTH_OK) return attached;
  const auto found = Handles::of_process().find<Session>(*session);
  if (found != nullptr) found->own_lease(std::move(variables));
  return BERTH_OK;
}

constexpr std::size_t kNoteMax = BERTH_NOTE_MAX;
constexpr std::size_t kPhaseMax = BERTH_PHASE_MAX;

Ending report_progress(Session& session, const berth_progress* progress) {
  TRY(given, read_grown(progress, "progress", offsetof(berth_progress, loss)));
  ProgressBody body{.done = given.done, .total = {}, .left = {}, .note = {}};
  if (given.total > 0) body.total = given.total;
  if (given.total > 0 && given.done > given.total) {
    return fail(BERTH_INVALID, "progress.done (" + std::to_string(given.done) +
                                   ") is above progress.total (" + std::to_string(given.total) +
                                   ")");
  }
  if (given.left_ms > 0) body.left = duration_ms(given.left_ms);
  if (given.note != nullptr) body.note = given.note;
  if (body.note.size() > kNoteMax) {
    return fail(BERTH_INVALID, "progress.note has " + std::to_string(body.note.size()) +
                                   " bytes: at most " + std::to_string(kNoteMax) + " are told");
  }
  if (given.loss != nullptr) {
    if (!std::isfinite(*given.loss)) return fail(BERTH_INVALID, "progress.loss is not finite");
    body.loss = *given.loss;
  }
  if (given.phase != nullptr) body.phase = given.phase;
  if (body.phase.size() > kPhaseMax) {
    return fail(BERTH_INVALID, "progress.phase has " + std::to_string(body.phase.size()) +
                                   " bytes: at most " + std::to_string(kPhaseMax) + " are told");
  }
  return session.report_progress(body);
}

// Asks something about the session's lease.
berth_status ask_about(berth_session session, wire::Route route, const AnyBody& body,
                       Duration within) {
  return with<Session>(session,
                       [&](const Session& found) { return found.ask(route, body, within); });
}

std::uint32_t action_of(Ask::Kind kind) {
  switch (kind) {
    case Ask::Kind::kCleanup:
      return BERTH_CLEANUP;
    case Ask::Kind::kCheckpoint:
      return BERTH_CHECKPOINT;
    case Ask::Kind::kRelease:
      return BERTH_RELEASE;
  }
  return 0;
}

Ending next_ask(Session& session, std::uint32_t timeout_ms, berth_ask* ask) {
  TRY_STATUS(check_sized(ask, "ask"));
  const auto next = session.next_ask(milliseconds(timeout_ms));
  if (!next.ok()) {
    const bool busy = next.error().code == Errc::kConflict;
    return busy ? fail(BERTH_BUSY, next.error().message) : fail(next.error());
  }
  const auto& asked = *next;
  if (!asked) return fail(BERTH_NOT_FOUND, "nothing was asked");
  berth_ask out{};
  out.action = action_of(asked->kind);
  out.number = asked->number;
  const Duration within = asked->within.value_or(Duration{});
  out.within_ms = static_cast<std::uint64_t>(within.ns / milliseconds(1).ns);
  copy_text(out.reason, asked->reason);
  return write_sized(ask, out);
}

CheckpointOutcome outcome_of(std::int32_t outcome) {
  if (outcome == BERTH_DONE) return CheckpointOutcome::kSaved;
  return outcome == BERTH_UNCONFIRMED ? CheckpointOutcome::kUnconfirmed
                                      : CheckpointOutcome::kFailed;
}

}  // namespace
}  // namespace berth::library

using berth::library::ask_about;
using berth::library::duration_ms;
using berth::library::Ending;
using berth::library::fail;
using berth::library::guarded;
using berth::library::kAnswerWithin;
using berth::library::kDetailMax;
using berth::library::Session;
using berth::library::with;
using berth::wire::Route;

extern "C" {

berth_status berth_acquire(const berth_session_options* options, const berth_request* request,
                           berth_session* session) {
  return guarded([=] { return berth::library::acquire(options, request, session); });
}

// One that `berth run` has is not ours to end.
berth_status berth_release(berth_session session) {
  return with<Session>(session, [](Session& found) -> Ending {
    if (found.owns_lease()) return found.release_lease();
    return fail(BERTH_CONFLICT, "this session has not acquired its lease: it ends with berth run");
  });
}

berth_status berth_resize(berth_session session, uint64_t vram_bytes, uint64_t wait_ms) {
  const berth::Duration wait = duration_ms(wait_ms);
  berth::ResizeBody body;
  body.vram = berth::Bytes{vram_bytes};
  if (wait.ns > 0) body.wait_max = wait;
  return ask_about(session, Route::kResize, body, kAnswerWithin + wait);
}

berth_status berth_renew(berth_session session, uint64_t ttl_ms) {
  const berth::RenewBody body{.ttl = duration_ms(ttl_ms)};
  return ask_about(session, Route::kRenew, body, kAnswerWithin);
}

berth_status berth_report_progress(berth_session session, const berth_progress* progress) {
  return with<Session>(
      session, [=](Session& found) { return berth::library::report_progress(found, progress); });
}

berth_status berth_session_next_ask(berth_session session, uint32_t timeout_ms, berth_ask* ask) {
  return with<Session>(
      session, [=](Session& found) { return berth::library::next_ask(found, timeout_ms, ask); });
}

berth_status berth_session_answer(berth_session session, const berth_ask* ask, int32_t outcome,
                                  const char* detail) {
  return guarded([=]() -> Ending {
    std::string text = detail == nullptr ? "" : detail;
    text.resize(std::min(text.size(), kDetailMax));
    TRY(given, berth::library::read_sized(ask, "ask"));
    if (given.action != BERTH_CHECKPOINT) {
      return with<Session>(session, [](Session&) { return BERTH_OK; });
    }
    const berth::CheckpointedBody body{
        .number = given.number, .outcome = berth::library::outcome_of(outcome), .detail = text};
    return ask_about(session, Route::kCheckpointed, body, kAnswerWithin);
  });
}

berth_status berth_session_serve(berth_session session, uint32_t timeout_ms,
                                 int32_t (*act)(void* user, const berth_ask* ask), void* user) {
  if (act == nullptr) return fail(BERTH_INVALID, "act is null");
  berth_ask ask{};
  ask.size = sizeof ask;
  const berth_status asked = berth_session_next_ask(session, timeout_ms, &ask);
  if (asked != BERTH_OK) return asked;
  std::int32_t outcome = BERTH_NOT_DONE;
  bool threw = false;
  try {
    outcome = act(user, &ask);
  } catch (...) {
    threw = true;
  }
  const char* detail = threw ? "the program's callback threw an exception" : "";
  const berth_status answered = berth_session_answer(session, &ask, outcome, detail);
  if (threw) return fail(BERTH_CALLBACK, "the callback act threw an exception");
  return answered;
}

}  // extern "C"
