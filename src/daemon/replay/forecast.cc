// SPDX-License-Identifier: Apache-2.0
#include "replay/forecast.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "core/coordinator.h"
#include "core/limits.h"

namespace berth::replay {
namespace {

using core::Effect;
using core::Event;

/// What is held back of a device now is so for ever, as if the driver kept it.
DeviceSample sample_of(const DeviceView& device) {
  return {.id = device.id,
          .index = device.index,
          .model = device.model,
          .lost = device.lost,
          .capacity = device.capacity.value_or(Bytes{}),
          .used = Bytes{},
          .figures = {.driver_reserved = device.held_back},
          .processes = std::vector<ProcessSample>{}};
}

class Forecaster {
 public:
  Forecaster(const std::vector<DeviceView>& devices, const std::vector<Expected>& expected,
             core::Settings settings, UnixMs now)
      : expected_(expected), coordinator_(std::move(settings)), begin_(now), now_{.wall = now} {
    now_.instant = Instant{} + hours(1);
    began_ = now_.instant;
    for (const DeviceView& device : devices) {
      if (device.capacity) sample_.devices.push_back(sample_of(device));
    }
    prospect_.resize(expected.size());
    entries_.resize(expected.size());
  }

  std::vector<Prospect> run() {
    step(core::Recovered{});
    sample();
    for (std::size_t i = 0; i < expected_.size(); ++i) begin(i);
    note_reasons();
    go_on();
    while (!due_.empty()) {
      now_.instant = *due_.begin();
      now_.wall.value = begin_.value + (now_.instant - began_).ns / 1'000'000;
      due_.erase(due_.begin());
      end_all_due();
      step(core::Woke{});
      go_on();
    }
    return std::move(prospect_);
  }

 private:
  /// A request in the coordinator: an entry, or a member of one.
  struct Asked {
    std::size_t entry = 0;
    Handle handle;
    std::optional<Instant> ends;
    bool claimed = false;
  };
  struct OfEntry {
    LeaseId id;               // Of the set, where it is one.
    std::uint32_t asked = 0;  // Members.
    std::uint32_t granted = 0;
    std::uint32_t ended = 0;
  };

  bool is_set(std::size_t entry) const { return expected_[entry].request.members > 0; }
  std::uint32_t members_of(std::size_t entry) const {
    return std::min(expected_[entry].request.members, kForecastMembersMax);
  }

  void step(const Event& event) {
    for (const Effect& effect : coordinator_.step(now_, event)) {
      if (const auto* wake = std::get_if<core::WakeAt>(&effect)) {
        if (wake->at > now_.instant && wake->at != Instant::never()) timer_ = wake->at;
      }
    }
  }
  void sample() {
    sample_.asked_at = sample_.answered_at = now_.instant;
    step(core::Sampled{sample_});
  }

  void begin(std::size_t i) {
    Request request = expected_[i].request;
    coordinator_.fill_defaults(request, expected_[i].named, expected_[i].user);
    std::erase_if(request.after, [&](const Predecessor& after) {
      return after.lease.value == 0 || after.lease.value > i;
    });
    for (Predecessor& after : request.after) after.lease = entries_[after.lease.value - 1].id;
    if (is_set(i)) request.members = members_of(i);
    if (const auto& running = expected_[i].running) {
      request.devices.clear();
      for (const Part& part : running->parts) request.devices.emplace_back(part.device);
      request.after.clear();
      request.not_before.reset();
      if (!running->parts.empty() && request.share != Share::kExclusive) {
        request.vram = running->parts.front().budget;
      }
    }
    request.ancestors.clear();
    request.wait_max.reset();
    request.ttl.reset();
    entries_[i].id = ask(i, std::move(request)).value_or(LeaseId{});
  }

  std::optional<LeaseId> ask(std::size_t entry, Request request) {
    const Handle handle{1, ++handles_};
    step(core::Submit{.token = {handles_},
                      .actor = {.user = expected_[entry].user},
                      .handle = handle,
                      .supervisor = std::nullopt,
                      .request = std::move(request)});
    const std::optional<LeaseId> id = coordinator_.find(handle);
    if (id) asked_[*id] = {.entry = entry, .handle = handle};
    return id;
  }

  /// Takes up what was granted, and asks for the next members of sets.
  void go_on() {
    bool more = true;
    while (more) {
      more = claim_all();
      for (std::size_t i = 0; i < expected_.size(); ++i) {
        if (is_set(i)) more |= ask_for_member(i);
      }
    }
    if (timer_ && *timer_ - began_ < kHorizon && has_waiting_for_time()) due_.insert(*timer_);
    timer_.reset();
  }

  bool claim_all() {
    bool any = false;
    for (auto& [id, one] : asked_) {
      if (one.claimed) continue;
      const auto view = coordinator_.lease(id, now_);
      if (!view || view->state != LeaseState::kHeld) continue;
      any = one.claimed = true;
      claim(id, one);
    }
    return any;
  }

  void claim(LeaseId id, Asked& one) {
    const Expected& expected = expected_[one.entry];
    step(core::Claim{.token = {id.value},
                     .actor = {.user = expected.user},
                     .handle = one.handle,
                     .body = {Process{static_cast<std::int32_t>(id.value) + 1, 1}}});
    Prospect& prospect = prospect_[one.entry];
    OfEntry& entry = entries_[one.entry];
    ++entry.granted;
    if (!prospect.starts) prospect.starts = now_.instant - began_;
    std::optional<Duration> runs = expected.running ? expected.running->ends : expected.request.eta;
    if (!expected.running && expected.request.limit) {
      runs = std::min(runs.value_or(*expected.request.limit), *expected.request.limit);
    }
    if (!runs) return;
    one.ends = now_.instant + std::max(*runs, milliseconds(1));
    due_.insert(*one.ends);
  }

  bool ask_for_member(std::size_t i) {
    OfEntry& entry = entries_[i];
    const std::uint32_t most = expected_[i].running_max;
    const bool one_waits = entry.asked > entry.granted;
    const bool full = most > 0 && entry.granted - entry.ended >= most;
    if (entry.id == LeaseId{} || entry.asked == members_of(i) || one_waits || full) return false;
    Request member = expected_[i].request;
    coordinator_.fill_defaults(member, expected_[i].named, expected_[i].user);
    member.members = 0;
    member.after.clear();
    member.not_before.reset();
    member.ancestors.clear();
    member.wait_max.reset();
    member.member = SetMember{entry.id, ++entry.asked};
    return ask(i, std::move(member)).has_value();
  }

  void end_all_due() {
    for (auto& [id, one] : asked_) {
      if (!one.ends || *one.ends > now_.instant) continue;
      one.ends.reset();
      OfEntry& entry = entries_[one.entry];
      ++entry.ended;
      const bool last = !is_set(one.entry) || entry.ended == members_of(one.entry);
      if (last) prospect_[one.entry].ends = now_.instant - began_;
      step(core::ReportExit{.token = {id.value},
                            .actor = {.user = expected_[one.entry].user},
                            .handle = one.handle,
                            .body = {.exit = {.code = 0}}});
      step(core::ProcessEnded{Process{static_cast<std::int32_t>(id.value) + 1, 1}});
    }
    sample();
  }

  /// Something waits for a time, and not for the end of another.
  bool has_waiting_for_time() const {
    return std::ranges::any_of(expected_, [&](const Expected& one) {
      return one.request.not_before && *one.request.not_before > now_.wall;
    });
  }

  /// Before any time has passed.
  void note_reasons() {
    (void)claim_all();
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (is_set(i)) (void)ask_for_member(i);
    }
    (void)claim_all();
    std::map<LeaseId, std::size_t> entry_of;
    for (const auto& [id, one] : asked_) entry_of[id] = one.entry;
    for (const auto& [id, one] : asked_) {
      Prospect& prospect = prospect_[one.entry];
      if (one.claimed || prospect.starts) continue;
      const auto why = coordinator_.why(id, now_);
      if (!why || why->reason == WhyView::Reason::kMembers) continue;
      prospect.reason = why->reason;
      prospect.holders.clear();
      for (const Holder& holder : why->holders) {
        const auto found = entry_of.find(holder.lease);
        if (found != entry_of.end()) prospect.holders.push_back(found->second);
      }
    }
  }

  static constexpr Duration kHorizon = hours(std::int64_t{24} * 366);

  const std::vector<Expected>& expected_;
  core::Coordinator coordinator_;
  UnixMs begin_;
  core::Now now_;
  Instant began_;
  Sample sample_;
  std::vector<Prospect> prospect_;
  std::vector<OfEntry> entries_;
  std::map<LeaseId, Asked> asked_;
  std::set<Instant> due_;
  std::optional<Instant> timer_;
  std::uint64_t handles_ = 0;
};

}  // namespace

std::vector<Prospect> forecast(const std::vector<DeviceView>& devices,
                               const std::vector<Expected>& expected, core::Settings settings,
                               UnixMs now) {
  settings.reserve = {};
  settings.device_reserve.clear();
  settings.limits.clear();
  settings.limits_default = {.waiting_max = limits::kWaitingMax, .leases_max = limits::kLeasesMax};
  return Forecaster(devices, expected, std::move(settings), now).run();
}

}  // namespace berth::replay
