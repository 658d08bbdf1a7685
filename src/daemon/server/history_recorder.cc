// SPDX-License-Identifier: Apache-2.0
#include "server/history_recorder.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "server/history_readings.h"

namespace berth::server {
namespace {

constexpr std::size_t kEndedMax = 1'000;      // As many as the coordinator remembers.
constexpr std::size_t kSessionsMax = 20'000;  // Leases whose news is not yet written.
constexpr std::size_t kAuditMax = 20'000;     // Likewise; then the oldest are lost.

// Half of what was done to the leases of the user who has most of it.
void drop_oldest_of_most(std::vector<AuditEntry>& audit) {
  std::map<UserId, std::size_t> counts;
  for (const AuditEntry& entry : audit) ++counts[entry.owner];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  std::size_t left = (most->second + 1) / 2;
  std::erase_if(audit, [&](const AuditEntry& entry) {
    if (entry.owner != most->first || left == 0) return false;
    --left;
    return true;
  });
}

}  // namespace

HistoryRecorder::HistoryRecorder(store::HistoryOptions options, const HistorySettings& settings,
                                 Say warn)
    : options_(std::move(options)), settings_(settings), warn_(std::move(warn)) {
  start();
}

HistoryRecorder::~HistoryRecorder() = default;

void HistoryRecorder::start() {
  Result<HistoryThread> thread = HistoryThread::start(options_);
  if (thread.ok()) {
    thread_ = std::make_unique<HistoryThread>(*std::move(thread));
  } else {
    warn_("no history is kept: " + thread.error().message);
  }
}

void HistoryRecorder::configure(const HistorySettings& settings) {
  settings_ = settings;
}

void HistoryRecorder::sampled(const Sample& sample, const core::Coordinator& coordinator,
                              core::Now now) {
  if (!thread_ || !settings_.record || !sample.trouble.empty()) return;
  const std::vector<DeviceView> devices = coordinator.devices(now);
  std::set<LeaseId> ids;
  for (const DeviceView& device : devices) ids.insert(device.leases.begin(), device.leases.end());
  std::vector<LeaseView> leases;
  // What was not looked at for longer than usual is unknown for as long.
  const Duration usual = settings_.sample_interval + settings_.sample_interval + seconds(3);
  const Duration since_last =
      sampled_at_ ? std::min(now.instant - *sampled_at_, usual) : Duration{};
  sampled_at_ = now.instant;
  for (const LeaseId id : ids) {
    std::optional<LeaseView> lease = coordinator.lease(id, now);
    if (!lease) continue;
    follow_lease(*lease, now, since_last);
    leases.push_back(*std::move(lease));
  }
  for (const history::Reading& reading : readings_of(sample, devices, leases)) {
    collector_.add(reading, now.wall);
  }
  note_ended(coordinator, now);
  if (write_at_ == Instant::never()) write_at_ = now.instant + kWriteEvery;
}

void HistoryRecorder::follow_lease(const LeaseView& lease, core::Now now, Duration since_last) {
  if (!lease.started_at || lease.flags.unclaimed) return;
  auto found = sessions_.find(lease.id);
  if (found == sessions_.end()) {
    if (sessions_.size() >= kSessionsMax) return;
    found = sessions_.emplace(lease.id, session_of(lease)).first;
  }
  history::Session fresh = session_of(lease);
  fresh.known_ms = found->second.known_ms;
  fresh.used_mib_ms = found->second.used_mib_ms;
  fresh.unused_mib_ms = found->second.unused_mib_ms;
  // A clock that was set back does not tell how old it is.
  const std::int64_t age_ms = now.wall.value - lease.started_at->value;
  const Duration time = age_ms < 0 ? since_last : std::min(since_last, milliseconds(age_ms));
  if (lease.state == LeaseState::kHeld) add_use(fresh, lease, time);
  found->second = std::move(fresh);
}

void HistoryRecorder::ended(LeaseId lease) {
  if (!thread_ || !settings_.record) return;
  if (ended_.size() >= kEndedMax) ended_.erase(ended_.begin());
  ended_.insert(lease);
}

void HistoryRecorder::did(const AuditEntry& entry) {
  if (!thread_ || !settings_.record) return;
  if (audit_.size() >= kAuditMax) {
    warn_("the history leaves out some of what was done to leases: it cannot be written in time");
    drop_oldest_of_most(audit_);
  }
  audit_.push_back(entry);
}

void HistoryRecorder::note_ended(const core::Coordinator& coordinator, core::Now now) {
  for (const LeaseId id : std::exchange(ended_, {})) {
    const std::optional<LeaseView> lease = coordinator.lease(id, now);
    if (!lease || lease->state != LeaseState::kEnded) continue;
    follow_lease(*lease, now, {});
    note_end_of_waiting(*lease);
  }
}

// Of one that had held something before.
void HistoryRecorder::note_end_of_waiting(const LeaseView& lease) {
  if (lease.started_at || lease.restarts == 0) return;
  requeued_.try_emplace(lease.id, lease.ended_at.value_or(UnixMs{}));
}

Instant HistoryRecorder::next() const {
  if (!thread_) return Instant::never();
  const bool is_news = !ended_.empty() || !requeued_.empty() || !audit_.empty();
  return write_at_ == Instant::never() && is_news ? Instant{} : write_at_;
}

void HistoryRecorder::on_timer(const core::Coordinator& coordinator, core::Now now) {
  if (now.instant < next()) return;
  if (write_at_ == Instant::never()) {
    write_at_ = now.instant + kWriteEvery;
    return;
  }
  write(collector_.take_before(now.wall), coordinator, now);
}

void HistoryRecorder::write(std::vector<history::Series> seconds,
                            const core::Coordinator& coordinator, core::Now now) {
  write_at_ = Instant::never();
  if (!thread_ || !settings_.record) return;
  note_ended(coordinator, now);
  HistoryWrite write{.seconds = std::move(seconds), .live = {}, .now = now.wall};
  if (!caught_up_) catch_up(coordinator, now, write);
  for (auto& [id, session] : std::exchange(sessions_, {})) {
    write.leases.push_back(std::move(session));
  }
  for (const auto& [id, at] : std::exchange(requeued_, {})) {
    const std::optional<LeaseView> lease = coordinator.lease(id, now);
    const bool rests = lease && !lease->started_at;
    if (rests) write.resting.push_back({.id = id, .since = at, .result = lease->result});
  }
  write.audit = std::exchange(audit_, {});
  const bool nothing =
      write.seconds.empty() && write.leases.empty() && write.resting.empty() && write.audit.empty();
  if (nothing && !write.live) return;
  const bool sent = thread_->send({.what = std::move(write), .retention = settings_.retention});
  if (!sent && !std::exchange(behind_, true)) {
    warn_("the disk is too slow for the history: figures of some seconds are lost");
  }
  if (sent) {
    behind_ = false;
    caught_up_ = true;
  }
  if (const std::uint64_t left_out = collector_.take_left_out(); left_out > 0) {
    warn_("the history leaves out " + std::to_string(left_out) +
          " figures: there are more than it takes down");
  }
}

// A daemon that was killed may not have written of an end that its journal knows, and of a lease
// whose journal was moved aside nobody knows.
void HistoryRecorder::catch_up(const core::Coordinator& coordinator, core::Now now,
                               HistoryWrite& write) {
  for (const LeaseView& lease : coordinator.ended(now)) {
    if (lease.started_at) sessions_.try_emplace(lease.id, session_of(lease));
    note_end_of_waiting(lease);
  }
  write.live.emplace();
  for (const LeaseView& lease : coordinator.leases(now)) write.live->insert(lease.id);
}

void HistoryRecorder::finish(const core::Coordinator& coordinator, core::Now now) {
  if (!thread_) return;
  write(collector_.take_all(), coordinator, now);
  thread_->finish();
  hear_reports();
}

void HistoryRecorder::ask(HistoryAsk ask, const core::Coordinator& coordinator, core::Now now,
                          Then then) {
  if (!thread_ || !settings_.record) {
    return then(Error{Errc::kNotFound,
                      "no history is kept: [history] record is false in the configuration"});
  }
  if (fair_queue_.waiting(ask.user) >= kAskedMax) {
    return then(Error{Errc::kConflict, "you ask too much about the past at once: try again"});
  }
  write(collector_.take_before(now.wall), coordinator, now);
  ask.ticket = ++last_ticket_;
  fair_queue_.add(ask.user, ask.ticket);
  waiting_.emplace(last_ticket_, WaitingAsk{.ask = std::move(ask), .then = std::move(then)});
  ask_on();
}

void HistoryRecorder::ask_on() {
  while (asked_.size() < kAskedAtOnce) {
    const auto ticket = fair_queue_.next([](UserId /*user*/) { return true; });
    if (!ticket) return;
    WaitingAsk next = std::move(waiting_.extract(*ticket).mapped());
    if (thread_->send({.what = std::move(next.ask), .retention = settings_.retention})) {
      asked_.emplace(*ticket, std::move(next.then));
    } else {
      next.then(Error{Errc::kConflict,
                      "the disk is too slow for questions about the past: try "
                      "again"});
    }
  }
}

bool HistoryRecorder::keep(HistoryKeep keep) {
  if (!thread_) return true;  // It was said at the start that nothing is kept.
  if (thread_->is_behind()) return false;
  return thread_->send({.what = std::move(keep), .retention = settings_.retention});
}

void HistoryRecorder::recall(core::Now now, Kept then) {
  recalled_ = std::move(then);
  const bool sent =
      thread_ && thread_->send({.what = HistoryRecall{.now = now.wall}, .retention = {}});
  if (!sent) std::exchange(recalled_, {})({});
}

std::optional<int> HistoryRecorder::descriptor() const {
  return thread_ ? std::optional(thread_->descriptor()) : std::nullopt;
}

void HistoryRecorder::hear_reports() {
  while (const auto taken = thread_->take_report()) {
    HistoryReport& report = *taken;
    for (const std::string& finding : report.findings) warn_(finding);
    if (report.kept && recalled_) std::exchange(recalled_, {})(*std::move(report.kept));
    if (!report.answer) continue;
    auto asked = asked_.extract(report.ticket);
    if (!asked.empty()) asked.mapped()(*report.answer);
    ask_on();
  }
}

}  // namespace berth::server
