// SPDX-License-Identifier: Apache-2.0
#include "server/service.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/quantity.h"
#include "os/random.h"
#include "server/openapi.h"
#include "server/own_programs.h"
#include "server/past_question.h"
#include "server/said_hello.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/request.h"
#include "wire/sse.h"

namespace berth::server {
namespace {

using wire::ApiError;
using wire::error_of;
using wire::Route;

wire::AlertList alerts_at(const AlertService* alerts, core::Now at) {
  if (alerts == nullptr) return {.time = at.wall, .items = {}};
  return alerts->list(at);
}

}  // namespace

Service::Service(ServiceSettings settings, Host& host, const os::Clock& clock, Asked asked)
    : settings_(std::move(settings)),
      host_(host),
      clock_(clock),
      asked_(asked),
      live_(to_text(os::random_handle()), settings_.host) {}

void Service::connect(Engine& engine, http::Transport& transport, BerthRunner::Run run_berth) {
  engine_ = &engine;
  run_berth_ = std::move(run_berth);
  transport_ = &transport;
  live_.connect({.transport = transport,
                 .coordinator = engine.coordinator(),
                 .alerts = [this](core::Now at) { return alerts_at(asked_.alerts, at); },
                 .names = host_.names(),
                 .simulated = settings_.hello.simulated});
}

// Connections.

void Service::opened(ConnectionId connection, const os::Peer& peer) {
  Client& client = clients_[connection];
  client.peer = {.user = peer.user,
                 .pid = peer.pid,
                 .process = peer.process,
                 .pidfd = {},
                 .certain = peer.certain};
  client.caller = {.user = peer.user};
  if (peer.certain) client.caller.process = peer.process;
  host_.meet(peer.user);
}

void Service::closed(ConnectionId connection) {
  const auto found = clients_.find(connection);
  if (found == clients_.end()) return;
  stream_over(found->second);
  followers_.erase(connection);
  live_.close(connection);
  clients_.erase(found);
  engine_->on_disconnect(now(), connection);
}

void Service::requested(ConnectionId connection, http::Request request) {
  Client& client = clients_.at(connection);
  if (client.act_as(request.guest)) host_.meet(client.caller.user);
  const auto match = wire::match_route(request.method, request.target);
  if (const auto* error = std::get_if<ApiError>(&match)) return fail(connection, *error);
  const auto& route = std::get<wire::RouteMatch>(match);
  auto process = process_of(request.hello, settings_.hello, client.peer, route.route);
  if (const auto* error = std::get_if<ApiError>(&process)) return fail(connection, *error);
  if (const auto& said = std::get<std::optional<Process>>(process)) client.caller.process = said;
  client.route = route.route;
  if (auto error = check_stream(client, request, route.route)) return fail(connection, *error);
  if (auto error = check_pace(client, route.route)) return fail(connection, *error);
  if (!waits_for_figures(connection, route, request)) go_on(connection, client, route, request);
}

void Service::go_on(ConnectionId connection, Client& client, const wire::RouteMatch& route,
                    const http::Request& request) {
  // Asked each time: a connection may outlive the rights of its user.
  client.caller.admin = host_.is_admin(client.caller.user);
  if (auto body = overview(client, route)) return succeed(connection, *std::move(body));
  if (auto error = dispatch(connection, client, route, request)) fail(connection, *error);
}

/// Where nobody looked for a while, the devices have not been asked for as long: what is told, or
/// granted, now should not rest on how they were then.
bool Service::waits_for_figures(ConnectionId connection, const wire::RouteMatch& route,
                                http::Request& request) {
  const bool needs = route.route == Route::kStatus || route.route == Route::kDevices ||
                     route.route == Route::kLive || route.route == Route::kFit ||
                     route.route == Route::kSubmit;
  if (!needs) return false;
  const core::Now at = now();
  if (waiting_.empty() && (figures_late_ || !engine_->figures_are_old(at))) return false;
  if (waiting_.empty()) waiting_until_ = at.instant + kFiguresWithin;
  waiting_.push_back({.connection = connection, .route = route, .request = std::move(request)});
  engine_->want_fresh_sample(at);
  return true;
}

void Service::figures_came() {
  figures_late_ = false;
  release_waiting();
}

void Service::release_waiting() {
  waiting_until_ = Instant::never();
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    const auto found = clients_.find(waiting.connection);
    if (found == clients_.end()) continue;
    go_on(waiting.connection, found->second, waiting.route, waiting.request);
  }
}

void Service::on_timer() {
  live_.on_timer(now());
  if (clock_.now() < waiting_until_) return;
  figures_late_ = true;
  release_waiting();
}

std::optional<ApiError> Service::check_stream(const Client& client, const http::Request& request,
                                              Route route) const {
  const RouteRow& row = row_of(route);
  const bool events = row.answer.empty();  // And nothing else.
  if (row.stream_of.empty() || (!events && !request.wants_stream)) return std::nullopt;
  if (!request.chunks) {
    return error_of(wire::code::kBadRequest, "a stream of events needs HTTP/1.1");
  }
  if (!events && route != Route::kFit) return std::nullopt;
  const auto found = streams_.find(client.caller.user);
  if (found == streams_.end() || found->second < settings_.streams_per_user) return std::nullopt;
  return error_of(wire::code::kTooMany,
                  "you listen to " + std::to_string(found->second) +
                      " streams of events, as many as one user may ([limits] event_streams)");
}

/// Only what makes something new that is remembered: all else is bounded by turns.
std::optional<ApiError> Service::check_pace(const Client& client, Route route) {
  if (route != Route::kSubmit) return std::nullopt;
  const PaceLimits& pace = settings_.pace;
  const auto wait = pace_.ask(client.caller.user, clock_.now(), pace);
  if (!wait) return std::nullopt;
  // What is asked at the instant that this names must be granted: it is rounded up.
  const Duration retry = milliseconds((wait->ns + milliseconds(1).ns - 1) / milliseconds(1).ns);
  return ApiError{.code = std::string(wire::code::kTooFast),
                  .message = "you ask for leases faster than " + std::to_string(pace.per_second) +
                             " a second, as often as one user may beyond " +
                             std::to_string(pace.at_once) + " at once: ask again in " +
                             to_text(retry) +
                             ", or have an admin raise [limits] requests_per_second",
                  .retry_after = retry};
}

std::optional<ApiError> Service::dispatch(ConnectionId connection, Client& client,
                                          const wire::RouteMatch& route,
                                          const http::Request& request) {
  switch (route.route) {
    case Route::kDaemonStop:
    case Route::kDaemonReload:
    case Route::kDashboard:
      return manage(connection, client, route.route, request.body);
    case Route::kMetrics:
      if (asked_.metrics == nullptr)
        return error_of(RefusalCode::kNotFound, "nothing is counted here");
      engine_->want_fresh_sample(now());
      answered_ = true;
      transport_->answer(connection, asked_.metrics->answer(engine_->coordinator(), host_, now(),
                                                            request.header("Accept").value_or("")));
      return std::nullopt;
    case Route::kDaemonSync:
      return sync(connection, request.body);
    case Route::kLease:
    case Route::kWhy:
    case Route::kProgressCourse:
    case Route::kLog:
    case Route::kLeaseEvents:
      return about_lease(connection, client, route);
    case Route::kFit:
      return fit(connection, client, request);
    case Route::kHistory:
    case Route::kSessions:
    case Route::kAudit:
      return about_past(connection, client, route);
    case Route::kDoctor:
      return ask_berth(connection, client, nullptr);
    case Route::kAlertTest:
      return test_alert(connection, client, route, request.body);
    case Route::kEvents:
      count_stream(client);
      followers_.insert(connection);
      transport_->stream(connection, wire::kSseComment);
      engine_->follow_all(connection);
      return std::nullopt;
    case Route::kLive:
      open_live(connection, client);
      return std::nullopt;
    default:
      break;
  }
  ParsedCommand asked = translate(route, request.body, translation(client.caller));
  if (auto* error = std::get_if<ApiError>(&asked)) return std::move(*error);
  engine_->ask(now(), connection, std::get<Command>(std::move(asked)),
               request.wants_stream ? Engine::Listen::kStream : Engine::Listen::kAnswer);
  return std::nullopt;
}

/// What needs neither a lease nor a body; absent for all other routes.
std::optional<std::string> Service::overview(const Client& client, const wire::RouteMatch& route) {
  const core::Now at = now();
  const core::Coordinator& coordinator = engine_->coordinator();
  const bool simulated = settings_.hello.simulated;
  switch (route.route) {
    case Route::kHealth:
      return R"({"status":"ok"})";
    case Route::kVersion:
      return wire::encode_version(settings_.hello);
    case Route::kDaemon:
      return wire::encode_daemon(host_.describe(at));
    case Route::kOpenApi:
      return std::string(openapi_json());
    case Route::kStatus:
      engine_->want_fresh_sample(at);
      return status_json(coordinator, at, simulated, viewer(client));
    case Route::kDevices:
      engine_->want_fresh_sample(at);
      return devices_json(coordinator, at, simulated, viewer(client));
    case Route::kAlerts:
      engine_->want_fresh_sample(at);
      return wire::encode_alerts(alerts_at(asked_.alerts, at));
    case Route::kQueue:
      return queue_json(coordinator, at, viewer(client));
    case Route::kLeases:
      engine_->want_fresh_sample(at);
      return leases(client, route, at);
    default:
      return std::nullopt;
  }
}

std::string Service::leases(const Client& client, const wire::RouteMatch& route, core::Now at) {
  const core::Coordinator& coordinator = engine_->coordinator();
  const wire::Viewer to = viewer(client);
  Which which{.ended = route.all, .limit = route.limit, .before = route.before};
  if (route.all && !route.limit) which.limit = wire::kLeasePageMax;
  if (route.all || route.limit || route.before) return leases_json(coordinator, at, which, to);
  return lists_.list(coordinator, engine_->version(), at, to);
}

std::optional<ApiError> Service::about_lease(ConnectionId connection, Client& client,
                                             const wire::RouteMatch& route) {
  const core::Now at = now();
  const core::Coordinator& coordinator = engine_->coordinator();
  const auto found = coordinator.find(route.lease, client.caller);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return wire::to_api_error(*refusal);
  const LeaseId lease = std::get<LeaseId>(found);
  if (route.route == Route::kLeaseEvents) {
    count_stream(client);
    engine_->follow(at, connection, lease);
    return std::nullopt;
  }
  engine_->want_fresh_sample(at);
  if (route.route == Route::kWhy) {
    auto why = coordinator.why(lease, at);
    CHECK(why.has_value());
    why->remedies = coordinator.remedies(lease, at);
    succeed(connection, wire::encode_why(*why, host_.names()));
    return std::nullopt;
  }
  const auto view = coordinator.lease(lease, at);
  CHECK(view.has_value());
  if (route.route == Route::kLog) return ask_berth(connection, client, &*view);
  const wire::Viewer to = viewer(client);
  if (route.route != Route::kProgressCourse) {
    succeed(connection, wire::encode_lease(*view, to));
  } else if (view->user == to.user || to.sees_all_commands) {
    succeed(connection, wire::encode_progress_course({coordinator.progress(lease)}));
  } else {
    return error_of(RefusalCode::kNotYours, "lease " + to_text(lease) + " is another user's");
  }
  return std::nullopt;
}

std::optional<ApiError> Service::fit(ConnectionId connection, Client& client,
                                     const http::Request& request) {
  auto read = translate_request(request.body, translation(client.caller));
  if (auto* error = std::get_if<ApiError>(&read)) return std::move(*error);
  Request& wanted = std::get<RequestBody>(read).request;
  const core::Now at = now();
  engine_->want_fresh_sample(at);
  if (request.wants_stream) {
    count_stream(client);
    engine_->follow_fit(at, connection, client.caller, std::move(wanted));
    return std::nullopt;
  }
  auto fit = engine_->coordinator().fit(wanted, client.caller, at);
  if (const auto* refusal = std::get_if<Refusal>(&fit)) return wire::to_api_error(*refusal);
  auto& view = std::get<FitView>(fit);
  if (!view.fits) view.remedies = engine_->coordinator().remedies(wanted, client.caller, at);
  succeed(connection, wire::encode_fit(view, host_.names()));
  return std::nullopt;
}

std::optional<ApiError> Service::about_past(ConnectionId connection, const Client& client,
                                            const wire::RouteMatch& route) {
  const core::Coordinator& coordinator = engine_->coordinator();
  auto asked = past_question(route, coordinator, client.caller, now(), host_.names());
  if (auto* error = std::get_if<ApiError>(&asked)) return std::move(*error);
  if (asked_.history == nullptr) return error_of(RefusalCode::kNotFound, "no history is kept");
  asked_.history->ask(std::get<HistoryAsk>(std::move(asked)), coordinator, now(),
                      [this, connection](const Result<std::string>& body) {
                        finish(connection, past_answer(body));
                      });
  return std::nullopt;
}

std::optional<ApiError> Service::ask_berth(ConnectionId connection, const Client& client,
                                           const LeaseView* lease) {
  auto words = words_for_berth(settings_.own_user, client.caller.user, lease);
  if (auto* error = std::get_if<ApiError>(&words)) return std::move(*error);
  if (!run_berth_) return error_of(RefusalCode::kNotSupported, "no program is run here");
  run_berth_(std::get<std::vector<std::string>>(std::move(words)),
             [this, connection](const Result<std::string>& printed) {
               finish(connection, answer_of(printed));
             });
  return std::nullopt;
}

std::optional<ApiError> Service::sync(ConnectionId connection, std::string_view body) {
  const auto read = wire::decode<NoBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  if (asked_.syncs == nullptr) return error_of(RefusalCode::kNotFound, "no journal is kept");
  asked_.syncs->add([this, connection](const Status& synced) {
    if (synced.ok()) return finish(connection, "{}");
    finish(connection, error_of(RefusalCode::kDiskFull, synced.error().message));
  });
  return std::nullopt;
}

std::optional<ApiError> Service::test_alert(ConnectionId connection, const Client& client,
                                            const wire::RouteMatch& route, std::string_view body) {
  const auto read = wire::decode<NoBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  if (auto error = not_in_charge(client.caller, settings_.own_user, "have the daemon send a test"))
    return error;
  const auto told = [this, connection](const wire::AlertTest& test) {
    finish(connection, wire::encode_alert_test(test));
  };
  if (asked_.alerts != nullptr && asked_.alerts->test(route.lease, told)) return std::nullopt;
  return error_of(RefusalCode::kNotFound, "there is no rule " + route.lease);
}

std::optional<ApiError> Service::manage(ConnectionId connection, const Client& client, Route route,
                                        std::string_view body) {
  if (route == Route::kDashboard) {
    const bool at_socket = !client.guest && client.peer.pid != 0;
    auto code = dashboard_json(host_, client.caller.user, at_socket, body);
    if (auto* error = std::get_if<ApiError>(&code)) return std::move(*error);
    succeed(connection, std::get<std::string>(std::move(code)));
    return std::nullopt;
  }
  const auto read = wire::decode<NoBody>(body);
  if (!read.ok()) return wire::to_api_error(read.error());
  if (auto error = not_in_charge(client.caller, settings_.own_user, "stop or reload the daemon"))
    return error;
  if (route == Route::kDaemonReload) {
    const Status reloaded = host_.reload();
    if (!reloaded.ok()) return error_of(RefusalCode::kInvalid, reloaded.error().message);
    engine_->note({.at = now().wall, .verb = Verb::kReload, .by = client.caller.user});
  }
  succeed(connection, "{}");
  if (route == Route::kDaemonStop) host_.stop();
  return std::nullopt;
}

// What the engine has to say.

void Service::answer(ConnectionId connection, const Answer& answer) {
  const auto found = clients_.find(connection);
  if (found == clients_.end()) return;
  const Client& client = found->second;
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    return fail(connection, wire::to_api_error(*refusal));
  }
  const LeaseView& lease = *std::get<Boxed<LeaseView>>(answer);
  wire::Environment environment;
  wire::LeaseExtras extras;
  if (client.route == Route::kClaim || client.route == Route::kJoin) {
    environment = command_environment(lease, settings_.environment);
    extras.env = &environment;
  }
  succeed(connection, wire::encode_lease(lease, viewer(client), extras),
          row_of(client.route).status);
}

void Service::item(ConnectionId connection, const Item& item) {
  const auto found = clients_.find(connection);
  if (found == clients_.end()) return;
  const wire::Viewer to = viewer(found->second);
  wire::SseEvent event;
  event.event = std::string(item.event);
  if (item.number != 0) event.id = std::to_string(item.number);
  event.data = item_json(item, settings_.hello.simulated, to);
  transport_->stream(connection, wire::encode_event(event));
  if (!item.last) return;
  stream_over(found->second);
  transport_->end_stream(connection);
}

bool Service::takes_news(ConnectionId connection) const {
  return transport_->drained(connection);
}

void Service::open_live(ConnectionId connection, Client& client) {
  count_stream(client);
  engine_->want_fresh_sample(now());
  const wire::Viewer to = viewer(client);
  const LiveAudience audience{.user = to.user,
                              .admin = client.caller.admin,
                              .may_act = !client.guest || client.guest->may_act,
                              .sees_all_commands = to.sees_all_commands};
  live_.open(connection, audience, now());
}

void Service::keep_streams_alive() {
  for (const ConnectionId connection : followers_) {
    transport_->stream(connection, wire::kSseComment);
  }
}

Translation Service::translation(const core::Actor& caller) const {
  return {.actor = caller,
          .coordinator = engine_->coordinator(),
          .now = now(),
          .default_vram = settings_.default_vram,
          .owner_of = [this](Process process) { return host_.owner_of(process); },
          .draw_handle = os::random_handle};
}

wire::Viewer Service::viewer(const Client& client) const {
  const UserId user = client.caller.user;
  const bool admin = host_.is_admin(user);
  return {.user = user,
          .sees_all_commands = settings_.show_all_commands || admin,
          .sees_all_handles = admin,
          .names = host_.names()};
}

void Service::succeed(ConnectionId connection, std::string body, std::uint16_t status) {
  answered_ = true;
  transport_->answer(connection, {.status = status, .body = std::move(body)});
}

void Service::finish(ConnectionId connection, std::variant<std::string, ApiError> answer) {
  if (!clients_.contains(connection)) return;  // It hung up meanwhile.
  if (const auto* error = std::get_if<ApiError>(&answer)) return fail(connection, *error);
  succeed(connection, std::get<std::string>(std::move(answer)));
}

void Service::fail(ConnectionId connection, const ApiError& error) {
  const auto found = clients_.find(connection);
  if (found != clients_.end()) stream_over(found->second);
  transport_->answer(connection,
                     {.status = wire::http_status(error.code), .body = wire::encode_error(error)});
}

void Service::count_stream(Client& client) {
  CHECK(!client.counted);
  client.counted = true;
  ++streams_[client.caller.user];
  ++event_streams_;
}

void Service::stream_over(Client& client) {
  if (!client.counted) return;
  client.counted = false;
  if (--streams_.at(client.caller.user) == 0) streams_.erase(client.caller.user);
  --event_streams_;
}

}  // namespace berth::server
