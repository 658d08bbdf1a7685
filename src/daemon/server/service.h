// SPDX-License-Identifier: Apache-2.0
// Requests of clients, one by one: who asks, whether they may, what is meant, and how the answer is
// written. Between the HTTP server and the engine; it owns no socket and reads no clock but the one
// it is given. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "http/transport.h"
#include "os/clock.h"
#include "os/processes.h"
#include "server/alert_service.h"
#include "server/berth_runner.h"
#include "server/engine.h"
#include "server/history_recorder.h"
#include "server/host.h"
#include "server/live_streams.h"
#include "server/metrics.h"
#include "server/pace.h"
#include "server/ports.h"
#include "server/sync_queue.h"
#include "server/translate.h"
#include "server/views.h"
#include "server/written_lists.h"
#include "wire/daemon.h"
#include "wire/error.h"
#include "wire/hello.h"
#include "wire/lease.h"
#include "wire/routes.h"

namespace berth::server {

struct ServiceSettings {
  wire::ServerHello hello;
  UserId own_user;  // Of the daemon: they may stop it.
  bool show_all_commands = true;
  std::size_t streams_per_user = 64;  // Of events; a waiting request is bounded as such.
  PaceLimits pace;                    // Of requests for leases, of each user.
  std::string host = {};              // The machine's name.
  DefaultVram default_vram;
  EnvironmentFacts environment;
};

class Service final : public http::Handler, public Outbox {
 public:
  static constexpr Duration kFiguresWithin = seconds(3);  // Then old ones have to do.

  /// Who can be asked about the past, about the rules, for a journal on the disk, and what has been
  /// counted. Without one, nobody can.
  struct Asked {
    HistoryRecorder* history = nullptr;
    AlertService* alerts = nullptr;
    SyncQueue* syncs = nullptr;
    const Metrics* metrics = nullptr;
  };

  Service(ServiceSettings settings, Host& host, const os::Clock& clock, Asked asked);
  /// Before the first connection: they need one another. Without `run_berth` none can be run.
  void connect(Engine& engine, http::Transport& transport, BerthRunner::Run run_berth = {});
  void configure(ServiceSettings settings) { settings_ = std::move(settings); }

  void opened(ConnectionId connection, const os::Peer& peer) override;
  void requested(ConnectionId connection, http::Request request) override;
  void closed(ConnectionId connection) override;

  void answer(ConnectionId connection, const Answer& answer) override;
  void item(ConnectionId connection, const Item& item) override;
  bool takes_news(ConnectionId connection) const override;

  /// To be called after each Engine::sampled() and probe_failed(), and at next_wake(): requests
  /// that waited for figures go on.
  void figures_came();
  Instant next_wake() const { return std::min(waiting_until_, live_.next_tell()); }
  void on_timer();

  LiveStreams& live() { return live_; }

  /// A comment into each stream of all news, so that proxies and readers see it alive.
  void keep_streams_alive();
  std::size_t event_streams() const { return event_streams_; }
  bool has_answered() const { return answered_; }
  core::Now now() const { return {.instant = clock_.now(), .wall = clock_.wall()}; }

 private:
  struct Client {
    os::Peer peer;  // Without its pidfd: a connection costs one descriptor.
    core::Actor caller;
    wire::Route route = wire::Route::kHealth;  // Of the request under way.
    std::optional<wire::Guest> guest;          // Whose session asked that.
    bool counted = false;                      // It is a stream of events.

    /// True: it is another user than before. Without a guest it is the one that the kernel names.
    bool act_as(const std::optional<wire::Guest>& now) {
      if (now == guest) return false;
      guest = now;
      caller = {.user = now ? now->user : peer.user};
      if (!now && peer.certain) caller.process = peer.process;
      return true;
    }
  };

  struct Waiting {
    ConnectionId connection;
    wire::RouteMatch route;
    http::Request request;
  };

  void open_live(ConnectionId connection, Client& client);
  bool waits_for_figures(ConnectionId connection, const wire::RouteMatch& route,
                         http::Request& request);
  void release_waiting();
  void go_on(ConnectionId connection, Client& client, const wire::RouteMatch& route,
             const http::Request& request);
  std::optional<wire::ApiError> check_stream(const Client& client, const http::Request& request,
                                             wire::Route route) const;
  std::optional<wire::ApiError> check_pace(const Client& client, wire::Route route);
  std::optional<wire::ApiError> dispatch(ConnectionId connection, Client& client,
                                         const wire::RouteMatch& route,
                                         const http::Request& request);
  std::optional<std::string> overview(const Client& client, const wire::RouteMatch& route);
  std::string leases(const Client& client, const wire::RouteMatch& route, core::Now at);
  std::optional<wire::ApiError> about_lease(ConnectionId connection, Client& client,
                                            const wire::RouteMatch& route);
  std::optional<wire::ApiError> fit(ConnectionId connection, Client& client,
                                    const http::Request& request);
  std::optional<wire::ApiError> about_past(ConnectionId connection, const Client& client,
                                           const wire::RouteMatch& route);
  std::optional<wire::ApiError> test_alert(ConnectionId connection, const Client& client,
                                           const wire::RouteMatch& route, std::string_view body);
  std::optional<wire::ApiError> sync(ConnectionId connection, std::string_view body);
  /// Of `berth doctor`, or of the logs of a lease.
  std::optional<wire::ApiError> ask_berth(ConnectionId connection, const Client& client,
                                          const LeaseView* lease);
  std::optional<wire::ApiError> manage(ConnectionId connection, const Client& client,
                                       wire::Route route, std::string_view body);
  Translation translation(const core::Actor& caller) const;
  wire::Viewer viewer(const Client& client) const;

  void succeed(ConnectionId connection, std::string body, std::uint16_t status = 200);
  void fail(ConnectionId connection, const wire::ApiError& error);
  /// One of both, if it has not hung up meanwhile.
  void finish(ConnectionId connection, std::variant<std::string, wire::ApiError> answer);
  void count_stream(Client& client);
  void stream_over(Client& client);

  ServiceSettings settings_;
  Host& host_;
  const os::Clock& clock_;
  Engine* engine_ = nullptr;
  http::Transport* transport_ = nullptr;
  const Asked asked_;
  BerthRunner::Run run_berth_;

  std::map<ConnectionId, Client> clients_;
  WrittenLists lists_;
  std::map<UserId, std::size_t> streams_;
  Pace pace_;
  std::size_t event_streams_ = 0;
  bool answered_ = false;             // A client, at some time.
  std::set<ConnectionId> followers_;  // Of all news.
  LiveStreams live_;
  std::vector<Waiting> waiting_;  // For figures; at most one for each connection.
  Instant waiting_until_ = Instant::never();
  bool figures_late_ = false;  // They were waited for once, and have not come since.
};

}  // namespace berth::server
