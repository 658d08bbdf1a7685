// SPDX-License-Identifier: Apache-2.0
#include "server/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "gpu/child_plan.h"
#include "os/clock.h"
#include "os/errors.h"
#include "os/files.h"
#include "os/machine.h"
#include "os/processes.h"
#include "os/signals.h"
#include "os/users.h"
#include "server/alert_ports.h"
#include "server/alert_service.h"
#include "server/background.h"
#include "server/boot_timer.h"
#include "server/budget_files.h"
#include "server/close_watcher.h"
#include "server/configuration.h"
#include "server/deliver_runner.h"
#include "server/device_claims.h"
#include "server/engine.h"
#include "server/heartbeat.h"
#include "server/history_recorder.h"
#include "server/http_frontend.h"
#include "server/log.h"
#include "server/notify_socket.h"
#include "server/probe_runner.h"
#include "server/process_watcher.h"
#include "server/readable_watch.h"
#include "server/real_world.h"
#include "server/service.h"
#include "server/sync_queue.h"
#include "store/sqlite_journal.h"

namespace berth::server {
namespace {

using boost::system::error_code;

constexpr auto kKeepAliveEvery = std::chrono::seconds(15);
constexpr auto kCheckEvery = std::chrono::minutes(1);

}  // namespace

struct Daemon::Impl final : Host {
  Impl(const DaemonOptions& with, const os::Environment& where)
      : options(with), env(where), started(clock.wall()) {}

  Status take_places();
  Status open_ports();
  Status open_journal(store::Recovered& recovered);
  void make_listeners();
  void make_world();
  void begin(const store::Recovered& recovered);
  void run();

  wire::DaemonView describe(core::Now now) const override;
  void stop() override { stopping = true; }
  Status reload() override;
  void meet(UserId user) override;
  const wire::UserNames& names() const override { return user_names; }
  bool is_admin(UserId user) const override;
  Result<UserId> owner_of(Process process) const override { return os::sole_user_of(process); }
  Result<wire::DashboardCode> dashboard(UserId user, const DashboardBody& asked) override {
    return http->dashboard(user, asked);
  }

  ServiceSettings service_settings() const {
    return server::service_settings(config, paths, !env.sim.empty());
  }
  EngineSettings engine_settings();
  void probe_answered(gpu::Probe::Outcome outcome);
  void signalled();
  void each(boost::asio::steady_timer& timer, std::chrono::seconds every,
            std::function<void()> what);
  std::string log_path() const { return paths.state_dir + "/berthd.log"; }
  void move_log();
  void after_each_turn();
  std::string probe_state(core::Now now) const;

  const DaemonOptions options;
  os::Environment env;
  os::PosixClock clock;
  const UnixMs started;
  Log log;
  config::Config config;
  Admins admins;
  os::Paths paths;
  std::uint64_t descriptors = 0;
  os::UniqueFd held_directory;
  std::optional<Entrances> entrances;
  os::UniqueFd timer_descriptor;
  std::optional<os::SignalDescriptor> signals;
  os::ChildPlan probe_plan;
  os::ChildPlan mover_plan;
  std::unique_ptr<store::Journal> journal;
  std::optional<int> journal_descriptor;

  boost::asio::io_context io{1};
  boost::asio::steady_timer keep_alive{io};
  boost::asio::steady_timer check{io};
  std::unique_ptr<ProcessWatcher> processes;
  std::unique_ptr<ProbeRunner> probe;
  std::unique_ptr<MoverRunner> mover;
  std::unique_ptr<DeviceClaims> claims;
  std::unique_ptr<BudgetFiles> files;
  std::unique_ptr<CloseWatcher> closes;
  std::unique_ptr<SyncQueue> syncs;
  std::unique_ptr<HistoryRecorder> history;
  std::unique_ptr<DeliverRunner> deliverer;
  std::unique_ptr<AlertService> alerts;
  std::unique_ptr<RealWorld> world;
  std::unique_ptr<Service> service;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<HttpFrontend> http;
  std::unique_ptr<BootTimer> timer;
  ReadableWatch signal_watch;
  ReadableWatch history_watch;

  wire::UserNames user_names;
  mutable std::map<UserId, bool> in_admin_group;  // Asked once; forgotten at a reload.
  std::string probe_trouble;
  std::string driver_version;
  std::optional<Instant> sampled_at;
  bool safe_mode = false;
  bool marked_answered = false;
  bool stopping = false;
};

// Start: everything that can fail comes before the journal, whose opening counts as a start.

Status Daemon::Impl::take_places() {
  if (!options.socket.empty()) env.socket = options.socket;
  TRY(read, read_configuration(env, options.mode));
  config = std::move(read.config);
  log.set_level(config.daemon.log);
  for (const config::Problem& note : read.notes) log.warn(to_text(note));
  admins = admins_of(config);
  const bool allowed = options.in_container || config.daemon.in_container;
  if (env.sim.empty()) TRY_STATUS(look_at_container(allowed, log));
  const std::string& state =
      options.state_dir.empty() ? config.daemon.state_dir : options.state_dir;
  TRY(found, os::paths_of(env, options.mode, state));
  paths = std::move(found);
  Status made = os::make_daemon_directories(paths, options.mode);
  if (!made.ok()) return Error{Errc::kCannotCreate, made.error().message};
  TRY(held, os::hold_directory(paths.runtime_dir));
  held_directory = std::move(held);
  return Unit{};
}

Status Daemon::Impl::open_ports() {
  (void)::signal(SIGPIPE, SIG_IGN);  // The reader of the log may go away.
  descriptors = os::raise_descriptor_limit();
  // Before anybody can connect: who has may reload or stop the daemon at once.
  constexpr std::array kSignals = {SIGTERM, SIGINT, SIGHUP};
  TRY(signal_fd, os::SignalDescriptor::open(kSignals));
  signals.emplace(std::move(signal_fd));
  TRY(opened, open_entrances(config.daemon, paths, options.mode));
  entrances.emplace(std::move(opened));
  paths.socket = entrances->socket.path();
  TRY(timer_fd, BootTimer::open_descriptor());
  timer_descriptor = std::move(timer_fd);
  TRY(for_probe, gpu::child_plan("berth-probe", env.sim));
  probe_plan = std::move(for_probe);
  TRY(for_mover, gpu::child_plan("berth-mover", env.sim));
  mover_plan = std::move(for_mover);
  return Unit{};
}

Status Daemon::Impl::open_journal(store::Recovered& recovered) {
  TRY(boot, os::boot_id());
  TRY(network, os::is_network_file_system(paths.state_dir));
  TRY(opened, store::SqliteJournal::open({.directory = paths.state_dir,
                                          .boot_id = boot,
                                          .now = clock.now(),
                                          .wall = clock.wall(),
                                          .network_file_system = network}));
  journal = std::move(opened.journal);
  journal_descriptor = opened.sync_descriptor;
  recovered = std::move(opened.recovered);
  // What was found belongs into the log that stays; why a start failed, to the user who tried.
  if (options.ground != DaemonOptions::RunMode::kForeground) move_log();
  for (const std::string& finding : recovered.findings) log.warn(finding);
  safe_mode = recovered.safe_mode;
  return Unit{};
}

// Who is told of what the engine sees and decides.
void Daemon::Impl::make_listeners() {
  history = std::make_unique<HistoryRecorder>(
      store::HistoryOptions{.path = paths.state_dir + "/history.db",
                            .wall = clock.wall(),
                            .network_file_system = !journal_descriptor},
      history_settings(config), [this](const std::string& text) { log.warn(text); });
  deliverer = std::make_unique<DeliverRunner>(io, options.mode, paths.runtime_dir);
  alerts = std::make_unique<AlertService>(config.alerts,
                                          alert_ports({engine, *history, *deliverer, log, clock}));
}

// What the engine's effects are performed with, and what it asks about a sample.
void Daemon::Impl::make_world() {
  claims = std::make_unique<DeviceClaims>(
      io,
      options.mode == os::Mode::kSystem ? DeviceClaims::Rank::kMachine : DeviceClaims::Rank::kUser,
      "berth/1 version=" BERTH_VERSION " uid=" + std::to_string(os::own_user().value) +
          " pid=" + std::to_string(::getpid()) + " socket=" + paths.socket,
      [this](const std::string& text) { log.warn(text); });
  files = std::make_unique<BudgetFiles>(
      lease_file_settings(config, os::leases_directory(paths.socket)),
      paths.state_dir + "/contexts", clock, [this](const std::string& text) { log.warn(text); },
      [this](Process process) { return processes->is_alive(process); });
  closes = watch_ledgers(io, *files, [this] { engine->want_probe(clock.now()); });
  world = std::make_unique<RealWorld>(RealWorld::Parts{
      .journal = *journal,
      .processes = *processes,
      .probe = *probe,
      .files = *files,
      .claims = *claims,
      .history = *history,
      .alerts = *alerts,
      .mover = *mover,
      .clock = clock,
      .happened = [this](const AuditEntry& entry) { service->live().happened(entry); },
      .leases_directory = os::leases_directory(paths.socket),
      .gpu_jobs_directory = config.daemon.gpu_jobs_dir,
      .user_names = user_names,
      .log = log});
}

void Daemon::Impl::begin(const store::Recovered& recovered) {
  meet(os::own_user());
  processes = std::make_unique<ProcessWatcher>(
      io, [this](Process process) { engine->process_ended(service->now(), process); });
  probe = std::make_unique<ProbeRunner>(
      io, clock, gpu::Probe::Options{.child = probe_plan},
      [this](gpu::Probe::Outcome outcome) { probe_answered(std::move(outcome)); });
  mover = std::make_unique<MoverRunner>(io, mover_plan, [this](const core::TransferDone& done) {
    engine->transfer_done(service->now(), done);
  });
  syncs = std::make_unique<SyncQueue>(io, *journal, journal_descriptor);
  make_listeners();
  make_world();
  service = std::make_unique<Service>(
      service_settings(), *this, clock,
      Service::Asked{history.get(), alerts.get(), syncs.get(), &world->metrics()});
  engine = std::make_unique<Engine>(engine_settings(), *world, *service);
  timer = std::make_unique<BootTimer>(io, std::move(timer_descriptor), [this] {
    engine->on_timer(service->now());
    service->on_timer();
    files->tidy();
    history->on_timer(engine->coordinator(), service->now());
  });
  std::vector<Record> records = recovered.snapshot;
  records.insert(records.end(), recovered.records.begin(), recovered.records.end());
  engine->recover(service->now(), records,
                  {.same_boot = recovered.same_boot, .safe_mode = recovered.safe_mode});
  std::vector<Handle> live;
  for (const LeaseView& lease : engine->coordinator().leases(service->now())) {
    meet(lease.user);
    if (lease.state != LeaseState::kWaiting) live.push_back(lease.handle);
  }
  files->keep_only(live);

  http = std::make_unique<HttpFrontend>(
      io, checked(entrances), *service, clock,
      HttpFrontend::Settings{.config = config,
                             .descriptors = descriptors,
                             .hello = wire::encode_hello(service_settings().hello),
                             .state_dir = paths.state_dir,
                             .warn = [this](const std::string& text) { log.warn(text); }});
  service->connect(*engine, http->transport(), http->berth());
  signal_watch.listen(io, checked(signals).descriptor(), [this] { signalled(); });
  if (const auto reports = history->descriptor()) {
    history_watch.listen(io, *reports, [this] { history->hear_reports(); });
  }
  history->recall(service->now(), [this](KeptAlerts kept) { alerts->restore(std::move(kept)); });
  each(keep_alive, kKeepAliveEvery, [this] { service->keep_streams_alive(); });
  each(check, kCheckEvery, [this] { engine->coordinator().check_everything(); });
}

Result<std::unique_ptr<Daemon>> Daemon::start(const DaemonOptions& options,
                                              const os::Environment& env) {
  auto impl = std::make_unique<Impl>(options, env);
  TRY_STATUS(impl->take_places());
  TRY_STATUS(impl->open_ports());
  store::Recovered recovered;
  TRY_STATUS(impl->open_journal(recovered));
  impl->begin(recovered);
  return std::make_unique<Daemon>(std::move(impl));
}

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Daemon::~Daemon() = default;

void Daemon::run() {
  impl_->run();
}

void Daemon::Impl::run() {
  const NotifySocket notify = NotifySocket::of_environment();
  if (options.ground == DaemonOptions::RunMode::kBackground) leave_terminal(log_path());
  const std::string at_port = http->address().empty() ? "" : " and " + http->address();
  log.info("berthd " BERTH_VERSION " listens at " + paths.socket + at_port + ", state in " +
           paths.state_dir +
           (paths.world == wire::kRealWorld ? "" : ", simulated machine " + paths.world));
  if (options.ready_fd) {
    (void)!::write(*options.ready_fd, "ready\n", 6);
    ::close(*options.ready_fd);
  }
  notify.ready("listening at " + paths.socket);
  const Heartbeat heartbeat(io, notify, Heartbeat::wanted());
  after_each_turn();
  while (!stopping) {
    io.run_one();
    after_each_turn();
  }
  notify.stopping();
  if (const Status written = engine->write_snapshot(service->now()); !written.ok()) {
    log.warn("no snapshot at the end: " + written.error().message);
  }
  files->tidy_all();
  history->finish(engine->coordinator(), service->now());
  log.info("berthd stops; what runs goes on, and the next berthd finds it again");
}

void Daemon::Impl::move_log() {
  log.info("the log goes on in " + log_path());
  const Status moved = log.move_to_file(log_path());
  if (!moved.ok()) log.warn(moved.error().message);
}

void Daemon::Impl::after_each_turn() {
  alerts->flush();
  syncs->flush();
  http->flush();
  files->catch_up();
  timer->set(std::min(
      {engine->next_wake(), service->next_wake(), files->next(), history->next(), alerts->next()}));
  if (!marked_answered && service->has_answered()) {
    marked_answered = true;
    journal->mark_answered();
  }
}

void Daemon::Impl::each(boost::asio::steady_timer& at, std::chrono::seconds every,
                        std::function<void()> what) {
  at.expires_after(every);
  at.async_wait([this, &at, every, what = std::move(what)](const error_code& code) mutable {
    if (code) return;
    what();
    each(at, every, std::move(what));
  });
}

void Daemon::Impl::signalled() {
  while (const auto seen = checked(signals).read()) {
    if (seen->signal != SIGHUP) {
      log.info("told to stop by signal " + std::to_string(seen->signal));
      stopping = true;
    } else if (const Status reloaded = reload(); !reloaded.ok()) {
      log.error("the configuration stays as it was: " + reloaded.error().message);
    } else {
      const auto by = seen->from_process ? std::optional(seen->sender) : std::nullopt;
      engine->note({.at = clock.wall(), .verb = Verb::kReload, .by = by, .reason = "SIGHUP"});
    }
  }
}

void Daemon::Impl::probe_answered(gpu::Probe::Outcome outcome) {
  const std::string trouble = outcome.sample ? outcome.sample->trouble : outcome.trouble;
  if (trouble != probe_trouble) {
    trouble.empty() ? log.info("the GPU driver answers") : log.warn("GPUs: " + trouble);
  }
  probe_trouble = trouble;
  if (outcome.sample) {
    sampled_at = outcome.sample->answered_at;
    // While all devices sleep, the driver is not asked for it.
    if (!outcome.sample->driver_version.empty()) driver_version = outcome.sample->driver_version;
    for (const DeviceSample& device : outcome.sample->devices) {
      if (!device.processes) continue;
      for (const ProcessSample& process : *device.processes) meet(process.user);
    }
    engine->sampled(service->now(), *outcome.sample);
    history->sampled(*outcome.sample, engine->coordinator(), service->now());
    if (trouble.empty()) alerts->looked(service->now(), engine->coordinator());
  } else {
    engine->probe_failed(service->now());
  }
  service->figures_came();
}

// What the service asks of its host.

wire::DaemonView Daemon::Impl::describe(core::Now now) const {
  const store::JournalFacts facts = journal->facts();
  wire::DaemonView view{
      .pid = ::getpid(),
      .version = BERTH_VERSION,
      .started = started,
      .socket = paths.socket,
      .http_address = http->address(),
      .state_dir = paths.state_dir,
      .mode = options.mode == os::Mode::kUser ? wire::DaemonView::Mode::kUser
                                              : wire::DaemonView::Mode::kSystem,
      .world = paths.world,
      .simulated = !env.sim.empty(),
      .trouble = engine->coordinator().trouble(),
      .probe = {.state = probe_state(now),
                .restarts = probe->probe().given_up(),
                .driver_version = driver_version,
                .trouble = probe_trouble},
      .counts = {.connections = http->connections(), .event_streams = service->event_streams()},
      .journal = {.path = facts.path,
                  .sequence = facts.last_sequence,
                  .records = facts.record_count,
                  .safe_mode = safe_mode,
                  .trouble = engine->journal_behind() ? "it cannot be written: nothing is granted"
                                                      : facts.trouble}};
  if (sampled_at) view.probe.sample_age = now.instant - *sampled_at;
  for (const LeaseView& lease : engine->coordinator().leases(now)) {
    if (lease.state == LeaseState::kWaiting) ++view.counts.waiting;
    if (lease.state == LeaseState::kHeld) ++view.counts.held;
    if (lease.state == LeaseState::kReleasing) ++view.counts.releasing;
  }
  return view;
}

std::string Daemon::Impl::probe_state(core::Now now) const {
  if (!sampled_at) return probe_trouble.empty() ? "starting" : "failed";
  if (!probe_trouble.empty()) return "stale";
  if (probe->probe().busy() && now.instant > probe->asked_at() + seconds(2)) return "stale";
  return probe->probe().descriptor() < 0 ? "asleep" : "answering";
}

Status Daemon::Impl::reload() {
  const NotifySocket notify = NotifySocket::of_environment();
  notify.reloading();
  Result<config::Loaded> read = read_configuration(env, options.mode);
  notify.ready(read.ok() ? "configuration reloaded"
                         : "the configuration has errors; the old holds");
  if (!read.ok()) return read.error();
  config = std::move(read->config);
  admins = admins_of(config);
  in_admin_group.clear();
  log.set_level(config.daemon.log);
  for (const config::Problem& note : read->notes) log.warn(to_text(note));
  service->configure(service_settings());
  http->configure(config);
  files->configure(lease_file_settings(config, os::leases_directory(paths.socket)));
  engine->configure(service->now(), engine_settings());
  history->configure(history_settings(config));
  alerts->configure(config.alerts);
  log.info("the configuration was reloaded");
  return Unit{};
}

void Daemon::Impl::meet(UserId user) {
  if (!user_names.contains(user)) user_names.emplace(user, os::user_name(user));
}

bool Daemon::Impl::is_admin(UserId user) const {
  if (admins.users.contains(user)) return true;
  const auto [known, first] = in_admin_group.emplace(user, false);
  if (first) {
    known->second = std::ranges::any_of(
        admins.groups, [user](const std::string& group) { return os::is_in_group(user, group); });
  }
  return known->second;
}

EngineSettings Daemon::Impl::engine_settings() {
  std::vector<std::string> unknown;
  EngineSettings settings{.core = core_settings(config, unknown),
                          .sample_interval = config.gpu.sample_interval,
                          .journal_path = journal->facts().path};
  for (const std::string& name : unknown) {
    log.warn("[users." + name + "]: there is no such user on this machine; it counts for nobody");
  }
  return settings;
}

}  // namespace berth::server
