// SPDX-License-Identifier: Apache-2.0
// For tests: requests as a client sends them, up to the engine and back, without a socket: the
// transport writes down what would be sent.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/copied_journal_for_test.h"
#include "server/engine_story_for_test.h"
#include "server/service.h"
#include "wire/request.h"

namespace berth::server {

inline constexpr UserId kAna{1000};
inline constexpr UserId kBen{1001};
inline constexpr UserId kLea{1002};  // Who may have low priority at most.
inline constexpr UserId kRoot{0};

class ServiceClock final : public os::Clock {
 public:
  Instant now() const override { return at; }
  UnixMs wall() const override { return {1'700'000'000'000}; }
  Instant at{1'000'000'000'000};
};

class Sent final : public http::Transport {
 public:
  void answer(ConnectionId connection, const http::Answer& answer) override {
    last_connection = connection;
    last = answer;
  }
  void stream(ConnectionId connection, std::string_view text) override {
    streams[connection] += text;
  }
  void end_stream(ConnectionId connection) override { streams[connection] += "<end>"; }
  bool drained(ConnectionId connection) const override { return !full.contains(connection); }

  ConnectionId last_connection;
  http::Answer last;
  std::map<ConnectionId, std::string> streams;
  std::set<ConnectionId> full;  // Do not read.
};

class FakeHost final : public Host {
 public:
  wire::DaemonView describe(core::Now /*now*/) const override { return {.pid = 77}; }
  void stop() override { stopped = true; }
  Status reload() override {
    if (!reloads) return Error{Errc::kInvalid, "berth.toml:3: unknown key 'reserv'"};
    return Unit{};
  }
  void meet(UserId /*user*/) override {}
  const wire::UserNames& names() const override { return names_; }
  bool is_admin(UserId user) const override { return admins.contains(user); }
  Result<wire::DashboardCode> dashboard(UserId user, const DashboardBody& asked) override {
    dashboards.emplace_back(user, asked);
    return wire::DashboardCode{.address = "http://127.0.0.1:7070", .code = "K7QD-41MX-9B2F"};
  }
  Result<UserId> owner_of(Process process) const override {
    const auto found = owners.find(process.pid);
    if (found == owners.end()) return Error{Errc::kNotFound, "there is no such process"};
    return found->second;
  }

  bool stopped = false;
  bool reloads = true;
  std::vector<std::pair<UserId, DashboardBody>> dashboards;
  std::set<UserId> admins = {kRoot};
  std::map<std::int32_t, UserId> owners = {{101, kAna}, {102, kAna}, {201, kBen}};

 private:
  wire::UserNames names_ = {{kAna, "ana"}, {kBen, "ben"}};
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest()
      : service_({.hello = {.version = "0.1.0", .world = "real", .pid = 77},
                  .own_user = kAna,
                  .show_all_commands = false,
                  .streams_per_user = 2,
                  .host = "workbench",
                  .environment = {.socket = "/run/berthd.sock"}},
                 host_, clock_, {.syncs = &syncs_, .metrics = &metrics_}),
        world_(trace_),
        engine_({.core = {.order = Order::kFifo,
                          .reserve = {},
                          .tiers = {{"fast", {.priority = Priority::kHigh}},
                                    {"night", {.priority = Priority::kLow, .may_yield = true}},
                                    {"turns", {.share = Share::kSlice}},
                                    {"whole", {.share = Share::kExclusive}}},
                          .limits = {{kLea, {.priority_max = Priority::kLow}}}}},
                world_, service_) {
    service_.connect(engine_, sent_);
    engine_.recover(service_.now(), {}, {});
    sample();
  }

  void sample() {
    Sample sample{.asked_at = clock_.now(), .answered_at = clock_.now()};
    sample.devices.push_back({.id = {0xd0, 1},
                              .capacity = gib(16),
                              .used = Bytes{},
                              .figures = {.driver_reserved = Bytes{}},
                              .processes = std::vector<ProcessSample>{}});
    engine_.sampled(service_.now(), sample);
  }
  ConnectionId connect(UserId user) {
    const ConnectionId id{++connections_};
    const Process process{static_cast<std::int32_t>(id.value), 5};
    service_.opened(id, {.user = user, .pid = process.pid, .process = process, .certain = true});
    return id;
  }
  http::Answer ask(ConnectionId connection, std::string method, std::string target,
                   std::string body = "", bool stream = false) {
    sent_.last = {.status = 0};
    service_.requested(connection, {.method = std::move(method),
                                    .target = std::move(target),
                                    .hello = hello_,
                                    .wants_stream = stream,
                                    .body = std::move(body)});
    return sent_.last;
  }
  http::Answer get(std::string target, UserId user = kAna) {
    return ask(connect(user), "GET", std::move(target));
  }
  http::Answer post(std::string target, std::string body = "", UserId user = kAna) {
    return ask(connect(user), "POST", std::move(target), std::move(body));
  }
  /// A lease as its requester reads it.
  LeaseView lease(const http::Answer& answer) {
    const auto read = wire::decode_lease(answer.body);
    EXPECT_TRUE(read.ok()) << answer.body;
    return read.ok() ? read->view : LeaseView{};
  }
  std::string code_of(const http::Answer& answer) { return wire::decode_error(answer.body).code; }
  /// A lease of ana's that is held by process 101.
  LeaseView hold(Bytes vram) {
    const ConnectionId connection = connect(kAna);
    const LeaseView asked = lease(ask(connection, "POST", "/v1/leases", request(vram)));
    (void)ask(connection, "POST", "/v1/leases/" + to_text(asked.handle) + "/claim",
              wire::encode(ClaimBody{{101, 9}}));
    return asked;
  }
  void end(const LeaseView& lease) {
    (void)post("/v1/leases/" + to_text(lease.handle) + "/exit", wire::encode(ExitBody{}));
    sample();
  }
  static std::string request(Bytes vram) {
    return wire::encode(RequestBody{.request = {.command = "python train.py", .vram = vram}});
  }

  ServiceClock clock_;
  FakeHost host_;
  boost::asio::io_context io_;
  CopiedJournal journal_;
  SyncQueue syncs_{io_, journal_, std::nullopt};
  Sent sent_;
  std::vector<std::string> trace_;
  Metrics metrics_;
  Service service_;
  FakeWorld world_;
  Engine engine_;
  std::optional<std::string> hello_;
  std::uint64_t connections_ = 0;
};

}  // namespace berth::server
