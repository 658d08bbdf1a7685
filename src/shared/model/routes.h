// SPDX-License-Identifier: Apache-2.0
// Everything that can be asked of the daemon, in one table: the server finds its way by it, clients
// ask by it, the coordinator's events (core/event.h) and share/openapi.json are made from it. What
// is said here of a row is for users: OpenAPI has it. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/check.h"
#include "base/words.h"
#include "model/bodies.h"

namespace berth {

enum class Method : std::uint8_t { kGet, kPost };
constexpr auto words_of(Method) {
  using enum Method;
  return make_words<Method>({{kGet, "GET"}, {kPost, "POST"}});
}

enum class Route : std::uint8_t {
  kHealth,
  kMetrics,
  kVersion,
  kDaemon,
  kDaemonStop,
  kDaemonReload,
  kDaemonSync,
  kStatus,
  kDevices,
  kQueue,
  kLeases,
  kSubmit,
  kReconnect,
  kClaim,
  kJoin,
  kExit,
  kPark,
  kCheckpointed,
  kRequeuing,
  kLease,
  kWhy,
  kLeaseEvents,
  kRelease,
  kCancel,
  kHold,
  kEdit,
  kResize,
  kRenew,
  kProgress,
  kProgressCourse,
  kLog,
  kCheckpoint,
  kSuspend,
  kFreeze,
  kResume,
  kMove,
  kRequeue,
  kMessage,
  kAgree,
  kRefuse,
  kFit,
  kEvents,
  kLive,
  kHistory,
  kSessions,
  kAudit,
  kAlerts,
  kAlertTest,
  kDoctor,
  kDashboard,
  kOpenApi,
};

template <class Body, class... All>
consteval std::size_t index_of(const std::variant<All...>* /*all*/) {
  constexpr std::array kIsIt = {std::is_same_v<Body, All>...};
  std::size_t at = 0;
  while (!kIsIt.at(at)) ++at;
  return at;
}
template <class Body>
inline constexpr std::size_t kBodyOfType = index_of<Body>(static_cast<AnyBody*>(nullptr));

struct RouteRow {
  Route route;
  Method method;
  // {handle}: a lease's handle. {ref}: its id, handle, name or a prefix. {rule}: its name.
  std::string_view path;
  std::string_view name;  // Of the operation: the last word of its path, or another.
  std::string_view summary;
  std::size_t body = kBodyOfType<NoBody>;  // Of AnyBody.
  std::string_view answer = {};            // A noun; empty: none, or of no form.
  std::string_view answer_doc = {};
  std::uint16_t status = 200;
  std::string_view stream_of = {};  // Nouns that events of its stream tell, if it has one.
  std::string_view stream_doc = {};
  std::string_view media = "application/json";  // Of the answer.
  std::string_view query = {};                  // Its parameters, as OpenAPI has them.
  std::string_view doc = {};

  constexpr RouteRow called(std::string_view text) const { return with(&RouteRow::name, text); }
  constexpr RouteRow about(std::string_view text) const { return with(&RouteRow::doc, text); }
  constexpr RouteRow takes(std::string_view parameters) const {
    return with(&RouteRow::query, parameters);
  }
  constexpr RouteRow answers(std::string_view noun, std::string_view text = {}) const {
    return with(&RouteRow::answer, noun).with(&RouteRow::answer_doc, text);
  }
  /// Text of another form than JSON.
  constexpr RouteRow in(std::string_view type) const { return with(&RouteRow::media, type); }
  constexpr RouteRow with_status(std::uint16_t number) const {
    RouteRow changed = *this;
    changed.status = number;
    return changed;
  }
  /// As a stream of events: if that is accepted, or always where there is no other answer.
  constexpr RouteRow streams(std::string_view nouns, std::string_view text) const {
    return with(&RouteRow::stream_of, nouns).with(&RouteRow::stream_doc, text);
  }

 private:
  constexpr RouteRow with(std::string_view RouteRow::* member, std::string_view text) const {
    RouteRow changed = *this;
    changed.*member = text;
    return changed;
  }
};

constexpr std::string_view last_word(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}
constexpr RouteRow get(Route route, std::string_view path, std::string_view answer,
                       std::string_view summary) {
  return {.route = route,
          .method = Method::kGet,
          .path = path,
          .name = last_word(path),
          .summary = summary,
          .answer = answer};
}
/// Answered with the lease, if nothing else is said.
template <class Body>
constexpr RouteRow post(Route route, std::string_view path, std::string_view summary) {
  return {.route = route,
          .method = Method::kPost,
          .path = path,
          .name = last_word(path),
          .summary = summary,
          .body = kBodyOfType<Body>,
          .answer = "Lease"};
}

inline constexpr std::string_view kToTheGrant =
    "First `lease` (a Lease); then `waiting` (a Why, at most once a second and only if it reads "
    "differently) and `parked` (a Lease); last `granted` or `ended` (a Lease; `ended` with its "
    "refusal). Then the answer ends and the connection can be used again.";

inline constexpr std::array kRoutes = {
    get(Route::kHealth, "/healthz", "Health", "Whether the daemon answers").called("health"),
    get(Route::kMetrics, "/metrics", "", "Figures for Prometheus")
        .called("metrics")
        .about("As version 0.0.4 of its text form, or as OpenMetrics 1.0 where that is accepted.")
        .in("text/plain"),
    get(Route::kVersion, "/v1/version", "Version", "Which version answers"),
    get(Route::kDaemon, "/v1/daemon", "Daemon", "How the daemon itself stands"),
    post<NoBody>(Route::kDaemonStop, "/v1/daemon/stop", "Stop the daemon")
        .about("Running commands go on; the next daemon finds them. For the daemon's own user and "
               "admins.")
        .answers("Nothing"),
    post<NoBody>(Route::kDaemonReload, "/v1/daemon/reload", "Read the configuration again")
        .about("All of it, or, if something is wrong, none. For the daemon's own user and admins.")
        .answers("Nothing"),
    post<NoBody>(Route::kDaemonSync, "/v1/daemon/sync", "Wait until the journal is on the disk")
        .about("Answered when what was confirmed before survives a power cut too. For anybody.")
        .answers("Nothing"),
    get(Route::kStatus, "/v1/status", "Status", "GPUs, leases and queue"),
    get(Route::kDevices, "/v1/devices", "DeviceList", "The GPUs"),
    get(Route::kQueue, "/v1/queue", "Queue", "Waiting requests, next first"),
    get(Route::kLeases, "/v1/leases", "LeaseList", "Live leases").takes("All Limit Before"),
    post<RequestBody>(Route::kSubmit, "/v1/leases", "Ask for a lease")
        .called("submit")
        .about(
            "The connection stands for the client: when it closes while the request waits or is "
            "not claimed, the request is cancelled. What cannot be met at all is refused at once.")
        .answers("Lease", "The lease: waiting, or held and still to be claimed.")
        .with_status(201)
        .streams("Lease Why", kToTheGrant),
    post<ReconnectBody>(
        Route::kReconnect, "/v1/leases/{handle}/reconnect",
        "Be its client again, after a restart of the daemon, or of a command that was requeued")
        .streams("Lease Why", kToTheGrant),
    post<ClaimBody>(Route::kClaim, "/v1/leases/{handle}/claim", "Take up a grant")
        .about("The process is the command; it stands ready and starts when this is answered. A "
               "grant that is not claimed within policy.claim_within goes to the next one.")
        .answers("Lease", "The lease, with env."),
    post<Process>(Route::kJoin, "/v1/leases/{handle}/join", "Add a process to a lease")
        .answers("Lease", "The lease, with env."),
    post<ExitBody>(Route::kExit, "/v1/leases/{handle}/exit", "Report how the command ended"),
    post<ParkBody>(Route::kPark, "/v1/leases/{handle}/park",
                   "Set a waiting request aside, or put it back in its place"),
    post<CheckpointedBody>(Route::kCheckpointed, "/v1/leases/{handle}/checkpointed",
                           "Tell how a save went")
        .about("For whoever does what the event `checkpoint` asks for. A number that is not under "
               "way changes nothing."),
    post<NoBody>(Route::kRequeuing, "/v1/leases/{handle}/requeuing",
                 "Begin to stop a command that is to be requeued")
        .about("For whoever does what the event `requeue` asks for. It stops the command when this "
               "is answered, and reconnects when nothing of it is left.")
        .answers("Lease", "The lease, being stopped."),
    get(Route::kLease, "/v1/leases/{ref}", "Lease", "One lease").called("lease"),
    get(Route::kWhy, "/v1/leases/{ref}/why", "Why", "Why it waits"),
    get(Route::kLeaseEvents, "/v1/leases/{ref}/events", "", "What happens to a lease")
        .called("leaseEvents")
        .streams("Lease AuditEntry",
                 "First `lease` (a Lease). Events `granted`, `ended`, `parked`, `unparked`, "
                 "`resized`, `over_budget`, `in_budget`, `full`, `not_full`, `degraded`, "
                 "`revoked`, `detached`, `pressure`, `suspended`, `resumed`, `frozen`, `measure`, "
                 "`requeue`, `requeuing`, `requeued`, `requeue_dropped` (with its refusal), "
                 "`message_sent`, `message_answered` and `astray`, the data of each a Lease; "
                 "`audit`, an AuditEntry. Ends after `ended`."),
    post<ReleaseBody>(Route::kRelease, "/v1/leases/{ref}/release", "End a lease")
        .about("Its memory stays charged until the driver has freed it."),
    post<NoBody>(Route::kCancel, "/v1/leases/{ref}/cancel",
                 "Withdraw a request, or end a lease and its processes"),
    post<HoldBody>(Route::kHold, "/v1/leases/{ref}/hold", "Keep a request from being granted")
        .about("It keeps its place, and others pass it, until that is taken back with `off`."),
    post<RequestEdit>(Route::kEdit, "/v1/leases/{ref}/edit", "Change a request that waits")
        .about("It keeps its number and its age in the queue."),
    post<ResizeBody>(Route::kResize, "/v1/leases/{ref}/resize", "Change the budget")
        .answers("Lease", "The lease. With wait_ms: when the growth was granted."),
    post<RenewBody>(Route::kRenew, "/v1/leases/{ref}/renew", "Keep a lease without a command"),
    post<ProgressBody>(Route::kProgress, "/v1/leases/{ref}/progress",
                       "Tell how far the program of a lease is"),
    get(Route::kProgressCourse, "/v1/leases/{ref}/progress", "ProgressCourse",
        "What the program of a lease has told so far")
        .called("progressCourse")
        .about("Since the daemon started, and as long as the lease lives. For those who see its "
               "command."),
    get(Route::kLog, "/v1/leases/{ref}/log", "JobLog", "What a job has printed last")
        .about("Of its last attempt, some 500 lines. For the user that the daemon runs as, of jobs "
               "of their own: the daemon reads no files of others."),
    post<CheckpointBody>(Route::kCheckpoint, "/v1/leases/{ref}/checkpoint",
                         "Have the program save itself")
        .about("One save at a time: whoever asks meanwhile joins.")
        .answers("Lease",
                 "The lease, when the save is over or wait_ms has passed; checkpoint.last says how "
                 "it went."),
    post<PauseBody>(Route::kSuspend, "/v1/leases/{ref}/suspend",
                    "Move its GPU memory to host memory")
        .about("Answered when it is done, or could not be; then its programs run on.")
        .answers("Lease", "The lease, suspended."),
    post<PauseBody>(Route::kFreeze, "/v1/leases/{ref}/freeze",
                    "Stop all its processes; it keeps its GPU memory")
        .about("Answered when it is done, or could not be; then its programs run on.")
        .answers("Lease", "The lease, frozen."),
    post<NoBody>(Route::kResume, "/v1/leases/{ref}/resume", "Let a suspended lease go on")
        .about("Answered when it runs, for which it may wait for room.")
        .answers("Lease", "The lease, held."),
    post<MoveBody>(Route::kMove, "/v1/leases/{ref}/move",
                   "Have a lease go on on other devices of the same model")
        .about("One that runs is suspended for it, and this is answered when it runs there, or "
               "could not be moved; then it runs on where it was. One that is suspended stays so, "
               "and returns there. Refused as `busy` where it would have to wait for room.")
        .answers("Lease", "The lease, with its devices as they are now."),
    post<RequeueBody>(Route::kRequeue, "/v1/leases/{ref}/requeue",
                      "Stop its command, and start it again in its turn")
        .about("For a lease with requeue_grace_ms. One that can save itself does so first.")
        .answers("Lease", "The lease, when it waits in the queue again."),
    post<MessageBody>(Route::kMessage, "/v1/leases/{ref}/message", "Ask something of its holder")
        .about("For anybody, of any lease that is held. One open message of a user at a time.")
        .answers("Lease",
                 "The lease, when the message was sent, was answered, or wait_ms has passed; "
                 "messages says what was answered."),
    post<AgreeBody>(Route::kAgree, "/v1/leases/{ref}/agree", "Agree to a message")
        .about("For the holder and admins. To what the daemon asks for a request: it makes room "
               "for that, and comes back after it."),
    post<RefuseBody>(Route::kRefuse, "/v1/leases/{ref}/refuse", "Refuse what a message asks")
        .about("For the holder and admins."),
    post<RequestBody>(Route::kFit, "/v1/fit", "Whether a request would be granted now")
        .about("Asks for nothing and holds no place.")
        .answers("Fit")
        .streams("Fit",
                 "Event `fit` (a Fit) now and whenever it changes, until the client closes."),
    get(Route::kEvents, "/v1/events", "", "What happens to all leases")
        .streams(
            "Lease UnmanagedNews Device Alert AuditEntry",
            "Events `granted`, `ended`, `parked`, `unparked`, `resized`, `over_budget`, "
            "`in_budget`, `full`, `not_full`, `degraded`, `revoked`, `detached`, `pressure`, "
            "`suspended`, `resumed`, `frozen`, `measure`, `requeue`, `requeuing`, `requeued`, "
            "`requeue_dropped` (with its refusal), `message_sent`, `message_answered`, `queued` "
            "and `astray`, the data of each a Lease; `unmanaged_seen` and `unmanaged_gone`, the "
            "data of each an UnmanagedNews; "
            "`device_pressure`, a Device; `alert`, an Alert; `audit`, an AuditEntry."),
    get(Route::kLive, "/v1/live", "", "What there is, and what changes of it: for a page")
        .streams(
            "LiveSnapshot LiveChange",
            "Event `snapshot` (a LiveSnapshot) first; then, once a second at most, `change` (a "
            "LiveChange) where something is different, and `heartbeat` (its `time` alone) "
            "where nothing was for 10 s. A client that has not read for a while gets a `snapshot` "
            "anew."),
    get(Route::kHistory, "/v1/history", "Past", "Figures of the past")
        .about("A point for each figure and step of which something is known. Where little is kept "
               "of the time asked for, the step is longer than asked.")
        .takes("Since Until Step OfDevice OfLease Of"),
    get(Route::kSessions, "/v1/history/sessions", "Sessions", "What became of leases")
        .about("Leases that held something in that time, of the last week if nothing is said.")
        .takes("Since Until OfLease"),
    get(Route::kAudit, "/v1/history/events", "Audit", "Who did what to which lease")
        .called("audit")
        .about("Oldest first, of the last week if nothing is said; the youngest 10000 where there "
               "are more. Of leases of others their names and users, and no command lines.")
        .takes("Since Until OfLease OfUser"),
    get(Route::kAlerts, "/v1/alerts", "AlertList", "Rules for alerts, and what they say now"),
    post<NoBody>(Route::kAlertTest, "/v1/alerts/{rule}/test",
                 "Send one message through each channel of a rule")
        .called("testAlert")
        .about("Answered when each was tried once. For the user that the daemon runs as, root and "
               "admins.")
        .answers("AlertTest", "What came of each."),
    get(Route::kDoctor, "/v1/doctor", "DoctorReport", "What `berth doctor` finds")
        .about("It is run anew, which takes a second or two, with the environment of the daemon. "
               "For the user that the daemon runs as."),
    post<DashboardBody>(Route::kDashboard, "/v1/dashboard", "Have a browser session, or end them")
        .about("A code opens one session, within a minute, for the user who asks; over the socket "
               "alone. The daemon listens at a port of 127.0.0.1 from then on, if it did not yet.")
        .answers("DashboardCode"),
    get(Route::kOpenApi, "/v1/openapi.json", "", "This file").called("openapi"),
};

constexpr const RouteRow& row_of(Route route) {
  const RouteRow& row = kRoutes.at(static_cast<std::size_t>(route));
  CHECK(row.route == route);
  return row;
}

template <Route kRoute>
using BodyOf = std::variant_alternative_t<row_of(kRoute).body, AnyBody>;

/// A command about the lease with that handle.
constexpr bool is_by_handle(const RouteRow& row) {
  return row.path.find("{handle}") != std::string_view::npos;
}
/// A command about whichever lease is meant.
constexpr bool is_by_reference(const RouteRow& row) {
  return row.method == Method::kPost && row.path.find("{ref}") != std::string_view::npos;
}

constexpr bool is_about_lease(const RouteRow& row) {
  return is_by_handle(row) || is_by_reference(row);
}
inline constexpr auto kLeaseRoutes = [] {
  constexpr auto kCount = static_cast<std::size_t>(std::ranges::count_if(kRoutes, is_about_lease));
  std::array<Route, kCount> routes = {};
  std::size_t count = 0;
  for (const RouteRow& row : kRoutes) {
    if (is_about_lease(row)) routes.at(count++) = row.route;
  }
  return routes;
}();

}  // namespace berth
