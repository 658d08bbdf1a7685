// SPDX-License-Identifier: Apache-2.0
// The C functions of a session's lease, and of what is asked of it. Any thread.
#include <algorithm>
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

berth_status acquire(const berth_session_options* options, const berth_request* request,
                     berth_session* session) {
  if (session == nullptr) return fail(BERTH_INVALID, "session is null");
  *session = 0;
  const auto given = read_sized(request, "request");
  if (!given.ok()) return fail(given.error());
  const Acquisition wish = acquisition_of(*given);
  auto before = LeaseVariables::Before::kNoLease;
  if (const auto outer = lease_of_environment()) {
    const auto held = Daemon::at(outer->socket).held(outer->handle, kAnswerWithin);
    if (!held.ok() || *held) {  // A daemon that is away comes back, and the lease with it.
      const Status joined =
          join(*outer, held.ok() ? budget_of(checked(*held)) : outer->budget, wish);
      return joined.ok() ? berth_attach(options, session) : fail(joined.error());
    }
    before = LeaseVariables::Before::kLeaseThatIsOver;
  }
  auto daemon = Daemon::find();
  if (!daemon.ok()) return fail(daemon.error());
  const auto lease = daemon->acquire(wish);
  if (!lease.ok()) return fail(lease.error());
  auto variables = LeaseVariables::set(*lease, daemon->socket(), before);
  const berth_status attached = berth_attach(options, session);
  if (attached != BERTH_OK) return attached;
  const auto found = Handles::of_process().find<Session>(*session);
  if (found != nullptr) found->own_lease(std::move(variables));
  return BERTH_OK;
}

// One that `berth run` has is not ours to end.
berth_status release(berth_session session) {
  const auto found = Handles::of_process().find<Session>(session);
  if (found == nullptr) return BERTH_STALE;
  if (!found->owns_lease()) {
    return fail(BERTH_CONFLICT, "this session has not acquired its lease: it ends with berth run");
  }
  const Status released = found->release_lease();
  return released.ok() ? BERTH_OK : fail(released.error());
}

constexpr std::size_t kNoteMax = BERTH_NOTE_MAX;

berth_status report_progress(berth_session session, const berth_progress* progress) {
  const auto found = Handles::of_process().find<Session>(session);
  if (found == nullptr) return BERTH_STALE;
  const auto given = read_sized(progress, "progress");
  if (!given.ok()) return fail(given.error());
  ProgressBody body{.done = given->done, .total = {}, .left = {}, .note = {}};
  if (given->total > 0) body.total = given->total;
  if (given->total > 0 && given->done > given->total) {
    return fail(BERTH_INVALID, "progress.done (" + std::to_string(given->done) +
                                   ") is above progress.total (" + std::to_string(given->total) +
                                   ")");
  }
  if (given->left_ms > 0) body.left = duration_ms(given->left_ms);
  if (given->note != nullptr) body.note = given->note;
  if (body.note.size() > kNoteMax) {
    return fail(BERTH_INVALID, "progress.note has " + std::to_string(body.note.size()) +
                                   " bytes: at most " + std::to_string(kNoteMax) + " are told");
  }
  const Status sent = found->report_progress(body);
  return sent.ok() ? BERTH_OK : fail(sent.error());
}

// Asks something about the session's lease.
berth_status ask_about(berth_session session, wire::Route route, const AnyBody& body,
                       Duration within) {
  const auto found = Handles::of_process().find<Session>(session);
  if (found == nullptr) return BERTH_STALE;
  const Status asked = found->ask(route, body, within);
  return asked.ok() ? BERTH_OK : fail(asked.error());
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

berth_status next_ask(berth_session session, std::uint32_t timeout_ms, berth_ask* ask) {
  const auto found = Handles::of_process().find<Session>(session);
  if (found == nullptr) return BERTH_STALE;
  if (const Status sized = check_sized(ask, "ask"); !sized.ok()) return fail(sized.error());
  const auto next = found->next_ask(milliseconds(timeout_ms));
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
  const std::string& reason = asked->reason;
  std::copy_n(reason.data(), std::min(reason.size(), sizeof out.reason - 1), out.reason);
  write_sized(ask, out);
  return BERTH_OK;
}

berth_status answer(berth_session session, const berth_ask* ask, std::int32_t outcome,
                    const std::string& detail) {
  const auto given = read_sized(ask, "ask");
  if (!given.ok()) return fail(given.error());
  if (given->action != BERTH_CHECKPOINT) {
    const auto found = Handles::of_process().find<Session>(session);
    return found == nullptr ? BERTH_STALE : BERTH_OK;
  }
  CheckpointedBody body{.number = given->number, .outcome = {}, .detail = detail};
  body.outcome = outcome == BERTH_DONE          ? CheckpointOutcome::kSaved
                 : outcome == BERTH_UNCONFIRMED ? CheckpointOutcome::kUnconfirmed
                                                : CheckpointOutcome::kFailed;
  return ask_about(session, wire::Route::kCheckpointed, body, kAnswerWithin);
}

berth_status serve(berth_session session, std::uint32_t timeout_ms,
                   int32_t (*act)(void*, const berth_ask*), void* user) {
  if (act == nullptr) return fail(BERTH_INVALID, "act is null");
  berth_ask ask{};
  ask.size = sizeof ask;
  const berth_status asked = next_ask(session, timeout_ms, &ask);
  if (asked != BERTH_OK) return asked;
  std::int32_t outcome = BERTH_NOT_DONE;
  bool threw = false;
  try {
    outcome = act(user, &ask);
  } catch (...) {
    threw = true;
  }
  const berth_status answered =
      answer(session, &ask, outcome, threw ? "the program's callback threw an exception" : "");
  if (threw) return fail(BERTH_CALLBACK, "the callback act threw an exception");
  return answered;
}

}  // namespace
}  // namespace berth::library

extern "C" {

berth_status berth_acquire(const berth_session_options* options, const berth_request* request,
                           berth_session* session) {
  return berth::library::guarded(
      [=] { return berth::library::acquire(options, request, session); });
}

berth_status berth_release(berth_session session) {
  return berth::library::guarded([=] { return berth::library::release(session); });
}

berth_status berth_resize(berth_session session, uint64_t vram_bytes, uint64_t wait_ms) {
  return berth::library::guarded([=] {
    const berth::Duration wait = berth::library::duration_ms(wait_ms);
    berth::ResizeBody body;
    body.vram = berth::Bytes{vram_bytes};
    if (wait.ns > 0) body.wait_max = wait;
    return berth::library::ask_about(session, berth::wire::Route::kResize, body,
                                     berth::library::kAnswerWithin + wait);
  });
}

berth_status berth_renew(berth_session session, uint64_t ttl_ms) {
  return berth::library::guarded([=] {
    return berth::library::ask_about(session, berth::wire::Route::kRenew,
                                     berth::RenewBody{.ttl = berth::library::duration_ms(ttl_ms)},
                                     berth::library::kAnswerWithin);
  });
}

berth_status berth_report_progress(berth_session session, const berth_progress* progress) {
  return berth::library::guarded(
      [=] { return berth::library::report_progress(session, progress); });
}

berth_status berth_session_next_ask(berth_session session, uint32_t timeout_ms, berth_ask* ask) {
  return berth::library::guarded(
      [=] { return berth::library::next_ask(session, timeout_ms, ask); });
}

berth_status berth_session_answer(berth_session session, const berth_ask* ask, int32_t outcome,
                                  const char* detail) {
  return berth::library::guarded([=] {
    std::string text = detail == nullptr ? "" : detail;
    text.resize(std::min(text.size(), berth::library::kDetailMax));
    return berth::library::answer(session, ask, outcome, text);
  });
}

berth_status berth_session_serve(berth_session session, uint32_t timeout_ms,
                                 int32_t (*act)(void* user, const berth_ask* ask), void* user) {
  return berth::library::guarded(
      [=] { return berth::library::serve(session, timeout_ms, act, user); });
}

}  // extern "C"
