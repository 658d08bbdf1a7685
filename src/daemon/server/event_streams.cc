// SPDX-License-Identifier: Apache-2.0
#include "server/event_streams.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fnv1a.h"
#include "base/quantity.h"
#include "base/words.h"
#include "wire/sse.h"

namespace berth::server {
namespace {

/// FNV-1a over what a line shows. Two lines that read alike have the same fingerprint.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view text) {
    hash_ = fnv1a(text, hash_);
    byte(0);
    return *this;
  }
  Fingerprint& add(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      byte(static_cast<unsigned char>(number >> shift));
    }
    return *this;
  }
  Fingerprint& add(Bytes bytes) { return add(to_text(bytes)); }
  /// Ends are shown in minutes.
  Fingerprint& add(const std::optional<UnixMs>& time) {
    return add(time ? static_cast<std::uint64_t>(time->value / 60'000) + 1 : 0);
  }
  std::uint64_t value() const { return hash_; }

 private:
  void byte(unsigned char c) { hash_ = fnv1a(c, hash_); }
  std::uint64_t hash_ = kFnv1aBasis;
};

void add_shortages(Fingerprint& line, const std::vector<Shortage>& shortages) {
  for (const Shortage& shortage : shortages) {
    line.add(shortage.index).add(shortage.grantable).add(shortage.missing);
  }
}

std::uint64_t line_of(const WhyView& why) {
  Fingerprint line;
  line.add(to_text(why.reason)).add(why.position).add(why.ahead_count).add(why.expected_start);
  line.add(why.devices_fitting);
  add_shortages(line, why.shortages);
  for (const Holder& holder : why.holders) {
    line.add(holder.lease.value).add(holder.expected_end);
    for (const HeldThere& there : holder.devices) {
      line.add(to_text(there.device)).add(there.charged);
    }
  }
  return line.value();
}

std::uint64_t line_of(const FitView& fit) {
  Fingerprint line;
  line.add(fit.fits ? 1U : 0U).add(fit.expected_start).add(fit.largest).add(fit.ahead_count);
  for (const DeviceId& device : fit.devices) line.add(to_text(device));
  add_shortages(line, fit.shortages);
  return line.value();
}

constexpr bool are_names_of_the_stream() {
  return std::ranges::all_of(kWordsOf<core::LeaseEvent>, [](const auto& word) {
    return parse_word<wire::EventName>(word.text).has_value();
  });
}
static_assert(are_names_of_the_stream());

}  // namespace

void EventStreams::open_requester(core::Now now, const core::Coordinator& coordinator,
                                  ConnectionId connection, const LeaseView& lease) {
  outbox_.item(connection, {.event = "lease", .body = lease});
  if (lease.state != LeaseState::kWaiting && !comes_back(lease)) {
    // One that came back may also have missed the end.
    const bool ended = lease.state == LeaseState::kEnded;
    outbox_.item(connection, {.event = ended ? "ended" : "granted", .body = lease, .last = true});
    return;
  }
  Stream& stream = streams_[connection];
  stream.kind = Kind::kRequester;
  stream.lease = lease.id;
  by_lease_.insert({lease.id, connection});
  ++lines_;
  answer_requester(now, coordinator, connection, stream);
}

void EventStreams::open_lease(ConnectionId connection, const LeaseView& lease) {
  outbox_.item(connection, {.event = "lease", .body = lease});
  if (lease.state == LeaseState::kEnded) {
    outbox_.item(connection, {.event = "ended", .body = lease, .last = true});
    return;
  }
  Stream& stream = streams_[connection];
  stream.kind = Kind::kLease;
  stream.lease = lease.id;
  by_lease_.insert({lease.id, connection});
}

void EventStreams::open_all(ConnectionId connection) {
  streams_[connection].kind = Kind::kAll;
  all_.insert(connection);
}

void EventStreams::open_fit(core::Now now, const core::Coordinator& coordinator,
                            ConnectionId connection, core::Actor actor, Request request) {
  Stream& stream = streams_[connection];
  stream.kind = Kind::kFit;
  stream.fit = std::make_unique<Fit>(Fit{.actor = actor, .request = std::move(request)});
  ++lines_;
  tell_fit(now, coordinator, connection, stream);
}

void EventStreams::close(ConnectionId connection) {
  const auto found = streams_.find(connection);
  if (found == streams_.end()) return;
  const Stream& stream = found->second;
  if (stream.kind == Kind::kRequester || stream.kind == Kind::kFit) --lines_;
  if (stream.kind == Kind::kAll) all_.erase(connection);
  by_lease_.erase({stream.lease, connection});
  streams_.erase(found);
}

void EventStreams::publish(core::Now now, const core::Coordinator& coordinator,
                           const core::Notify& notify) {
  changed();
  const std::optional<LeaseView> lease = coordinator.lease(notify.lease, now);
  if (!lease) return;
  Item item{.event = to_text(notify.news), .body = *lease, .refusal = notify.refusal};
  item.number = ++number_;

  std::vector<ConnectionId> listeners;
  for (auto it = by_lease_.lower_bound({notify.lease, {}});
       it != by_lease_.end() && it->first == notify.lease; ++it) {
    listeners.push_back(it->second);
  }
  const bool ended = notify.news == core::LeaseEvent::kEnded;
  for (const ConnectionId connection : listeners) {
    Stream& stream = streams_.at(connection);
    if (stream.kind == Kind::kRequester && notify.news == core::LeaseEvent::kUnparked) {
      stream.line = 0;  // It waits again: the next round tells it for what.
      continue;
    }
    item.last =
        ended || (stream.kind == Kind::kRequester && notify.news == core::LeaseEvent::kGranted);
    outbox_.item(connection, item);
    if (item.last) close(connection);
  }
  item.last = false;
  for (const ConnectionId connection : all_) outbox_.item(connection, item);
}

void EventStreams::publish(const core::NotifyUnmanaged& notify) {
  const char* event = notify.news.gone ? "unmanaged_gone" : "unmanaged_seen";
  publish({.event = event, .body = notify.news}, LeaseId{});
}

void EventStreams::publish(core::Now now, const core::Coordinator& coordinator,
                           const core::NotifyDevice& notify) {
  if (all_.empty()) return;
  std::vector<DeviceView> devices = coordinator.devices(now);
  const auto device = std::ranges::find(devices, notify.device, &DeviceView::id);
  if (device == devices.end()) return;
  publish({.event = "device_pressure", .body = std::move(*device)}, LeaseId{});
}

void EventStreams::publish(const Alert& alert, bool to_its_lease) {
  const bool about_lease = alert.subject.kind == Alert::Subject::Kind::kLease;
  publish({.event = "alert", .body = alert},
          to_its_lease && about_lease ? alert.subject.lease : LeaseId{});
}

void EventStreams::publish(const AuditEntry& entry) {
  publish({.event = "audit", .body = entry}, entry.lease);
}

// To all that listen to everything, and to those that listen to this lease.
void EventStreams::publish(Item item, LeaseId lease) {
  item.number = ++number_;
  for (const ConnectionId connection : all_) outbox_.item(connection, item);
  for (auto it = by_lease_.lower_bound({lease, {}}); it != by_lease_.end() && it->first == lease;
       ++it) {
    if (streams_.at(it->second).kind == Kind::kLease) outbox_.item(it->second, item);
  }
}

void EventStreams::roll(core::Now now, const core::Coordinator& coordinator) {
  if (now.instant < next_roll()) return;
  if (!next_) {
    next_ = ConnectionId{};
    round_from_ = now.instant;
    changed_ = false;
  }
  slice_at_ = now.instant + kSliceEvery;
  auto it = streams_.lower_bound(*next_);
  for (std::size_t looked = 0; looked < kSlice && it != streams_.end(); ++it) {
    if (it->second.kind != Kind::kRequester && it->second.kind != Kind::kFit) continue;
    if (!roll_one(now, coordinator, it->first, it->second)) changed_ = true;
    ++looked;
  }
  next_ = it == streams_.end() ? std::nullopt : std::optional(it->first);
}

Instant EventStreams::next_roll() const {
  if (next_) return slice_at_;
  if (!changed_ || lines_ == 0) return Instant::never();
  return round_from_ + kLineEvery;
}

/// False: it has to be looked at again, because it may not be told now.
bool EventStreams::roll_one(core::Now now, const core::Coordinator& coordinator,
                            ConnectionId connection, Stream& stream) {
  if (now.instant < stream.told_at + kLineEvery) return false;
  if (!outbox_.takes_news(connection)) return false;
  if (stream.kind == Kind::kRequester) {
    answer_requester(now, coordinator, connection, stream);
  } else {
    tell_fit(now, coordinator, connection, stream);
  }
  return true;
}

void EventStreams::answer_requester(core::Now now, const core::Coordinator& coordinator,
                                    ConnectionId connection, Stream& stream) {
  const std::optional<WhyView> why = coordinator.why(stream.lease, now);
  if (!why || why->state != LeaseState::kWaiting) return;
  if (why->reason == WhyView::Reason::kParked) return;  // Told as news of its own.
  const std::uint64_t line = line_of(*why);
  if (line == stream.line) return;
  stream.line = line;
  stream.told_at = now.instant;
  outbox_.item(connection, {.event = "waiting", .body = *why});
}

void EventStreams::tell_fit(core::Now now, const core::Coordinator& coordinator,
                            ConnectionId connection, Stream& stream) {
  const auto fit = coordinator.fit(stream.fit->request, stream.fit->actor, now);
  const auto* view = std::get_if<FitView>(&fit);
  if (view == nullptr) return;
  const std::uint64_t line = line_of(*view);
  if (line == stream.line) return;
  stream.line = line;
  stream.told_at = now.instant;
  outbox_.item(connection, {.event = "fit", .body = *view});
}

}  // namespace berth::server
