// SPDX-License-Identifier: Apache-2.0
// All that can happen to the coordinator. The server makes events from sockets, timers, pidfds and
// the probe; the simulator makes them from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/settings.h"
#include "model/device.h"
#include "model/lease.h"
#include "model/request.h"
#include "model/routes.h"
#include "model/transfer.h"

namespace berth::core {

/// Who waits for the answer to an event: chosen by the server, given back in Reply.
struct Token {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const Token&, const Token&) = default;
};

/// Who asks, as the kernel names the peer of the socket.
struct Actor {
  UserId user;
  bool admin = false;
  std::optional<Process> process = {};  // Absent: nobody vouches for it.
};

/// What one of the routes asks of the coordinator: who, of which lease, and what they say.
template <Route kRoute>
struct RouteEvent {
  Token token;
  Actor actor;
  LeaseId lease;
  BodyOf<kRoute> body = {};
};
template <Route kRoute>
  requires(is_by_handle(row_of(kRoute)))
struct RouteEvent<kRoute> {
  Token token;
  Actor actor;
  Handle handle;
  BodyOf<kRoute> body = {};
};

/// A request. The server draws the handle. The answer is the lease, waiting or granted. One that
/// waits hears the rest by Notify.
struct Submit {
  Token token;
  Actor actor;
  Handle handle;
  std::optional<Process> supervisor;  // The requester; for a lease with a ttl what it hangs on.
  Request request;
};
/// The requester of a waiting or offered lease is back in a new connection. What was said for
/// another run than it waits for is old.
using Reconnect = RouteEvent<Route::kReconnect>;
/// The offer is taken up: the command stands ready and will start when this is answered.
using Claim = RouteEvent<Route::kClaim>;
/// A further process belongs to the lease: told by who started it.
using Join = RouteEvent<Route::kJoin>;
/// `berth run` has reaped the command.
using ReportExit = RouteEvent<Route::kExit>;
/// A stopped requester sets its waiting request aside, or takes its place again.
using Park = RouteEvent<Route::kPark>;
/// `berth run` tells how a save went that it was asked for.
using ReportCheckpoint = RouteEvent<Route::kCheckpointed>;
/// `berth run` was asked to stop its command to start it again, and is about to. It comes back by
/// Reconnect when nothing of the command is left.
using BeginRequeue = RouteEvent<Route::kRequeuing>;
/// Ends a lease; its memory stays charged until it is freed. Of one whose processes run, and are
/// not ended, it is refused unless they are to go on without it, or its own command asks.
using Release = RouteEvent<Route::kRelease>;
/// Ends a waiting request, or a lease and its processes.
using Cancel = RouteEvent<Route::kCancel>;
/// Keeps a waiting request from being granted, or lets it again.
using Hold = RouteEvent<Route::kHold>;
/// Changes what a waiting request asks for. It keeps its number and its age.
using Edit = RouteEvent<Route::kEdit>;
using Resize = RouteEvent<Route::kResize>;
using Renew = RouteEvent<Route::kRenew>;
/// The program of a lease tells how far it is.
using ReportProgress = RouteEvent<Route::kProgress>;
/// The program of a lease is to save itself. The answer is the lease, when that is over, or that it
/// is still under way. A request meanwhile joins.
using AskCheckpoint = RouteEvent<Route::kCheckpoint>;
/// Suspends a lease: the device memory of its processes is moved to the host and given to others.
/// Answered when that is so.
using Suspend = RouteEvent<Route::kSuspend>;
/// Stops all processes of a lease, which keeps what it has. Answered when that is so.
using Freeze = RouteEvent<Route::kFreeze>;
/// Answered when it runs again, for which it may have to wait for room.
using Resume = RouteEvent<Route::kResume>;
/// Has a lease go on on other devices, in the order of its parts. One that runs is suspended for
/// it, and this is answered when it runs again; one that is suspended stays so, and returns there.
using Migrate = RouteEvent<Route::kMove>;
/// A lease that was started with leave to is to be stopped, to wait in the queue and to be started
/// again. The answer is the lease when it waits. Who asks meanwhile joins.
using AskRequeue = RouteEvent<Route::kRequeue>;
/// Asks something of the holder of a lease, which may be another user's. The answer is the lease:
/// at once, or when the holder has answered.
using SendMessage = RouteEvent<Route::kMessage>;
using AgreeToMessage = RouteEvent<Route::kAgree>;
using RefuseMessage = RouteEvent<Route::kRefuse>;

template <std::size_t... kAt>
std::variant<Submit, RouteEvent<kLeaseRoutes[kAt]>...> commands_at(std::index_sequence<kAt...>);
/// All that can be asked of the coordinator.
using Command = decltype(commands_at(std::make_index_sequence<kLeaseRoutes.size()>()));

/// What came of the Transfer of that number.
struct TransferDone {
  LeaseId lease;
  std::uint64_t number = 0;
  TransferResult result;
};
/// The connection over which the requester of a waiting lease listened is gone.
struct RequesterGone {
  LeaseId lease;
};
/// The connection that waited for a growth is gone.
struct GrowthRequesterGone {
  LeaseId lease;
};
struct ProcessEnded {
  Process process;
};
/// A Signal was not sent: the process is another user's by now.
struct NotSignalled {
  LeaseId lease;
  Process process;
};
struct Sampled {
  Sample sample;
};
/// The instant asked for by WakeAt has come.
struct Woke {};
struct Configured {
  Settings settings;
};
/// Sent once after the last apply() and before anything else.
struct Recovered {
  bool same_boot = true;   // False: what the journal names ended with the machine.
  bool safe_mode = false;  // The journal was moved aside: nothing is granted.
};
/// A batch of records could not be written. `refused` are the leases whose requester was told so
/// instead of being answered; `granted` and `resized` those whose grant or new budget must be taken
/// back.
struct JournalFailed {
  std::string where;  // The file, for people.
  std::vector<LeaseId> refused;
  std::vector<LeaseId> granted;
  std::vector<LeaseId> resized = {};
};
struct JournalMended {};

template <class... Asked, class... Other>
std::variant<Asked..., Other...> joined(std::variant<Asked...>, std::variant<Other...>);
using AnyEvent = decltype(joined(
    std::declval<Command>(),
    std::declval<
        std::variant<TransferDone, RequesterGone, GrowthRequesterGone, ProcessEnded, NotSignalled,
                     Sampled, Woke, Configured, Recovered, JournalFailed, JournalMended>>()));
/// As AnyEvent, but copied, moved and ended in one source file: elsewhere that is a call.
struct Event : AnyEvent {
  using AnyEvent::AnyEvent;
  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();
};

/// The moment of an event.
struct Now {
  Instant instant;
  UnixMs wall;
};

}  // namespace berth::core
