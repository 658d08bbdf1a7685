// SPDX-License-Identifier: Apache-2.0
// For tests: a coordinator with a clock that stands still and a few devices, and what it answers as
// short lines: "grant 1; " for news, "held 1; " for an answer, "refuse busy; " for a refusal.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/coordinator.h"

namespace berth::core {

inline DeviceId device(std::uint64_t n) {
  return {0xd0, n, false};
}

class Story {
 public:
  explicit Story(Settings settings = {.order = Order::kFifo},
                 std::vector<Bytes> devices = {gib(16)})
      : coordinator(std::move(settings)) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      DeviceSample sample{.id = device(i),
                          .index = static_cast<std::uint32_t>(i),
                          .model = "Simulated",
                          .capacity = devices[i],
                          .used = Bytes{0},
                          .figures = {.driver_reserved = Bytes{0}},
                          .processes = std::vector<ProcessSample>{}};
      hardware.push_back(sample);
    }
    (void)feed(Recovered{});
    (void)sample();
  }

  std::string feed(const Event& event) {
    std::string out;
    bool decided = false;
    if (std::holds_alternative<Woke>(event)) wakes_at_ = Instant::never();
    for (const Effect& effect : coordinator.step(now, event)) {
      effects.push_back(effect);
      const auto* append = std::get_if<Append>(&effect);
      decided |= append != nullptr && !std::holds_alternative<LeaseClaimed>(append->record.fact);
      if (const auto* wake = std::get_if<WakeAt>(&effect)) wakes_at_ = wake->at;
      out += describe(effect);
    }
    coordinator.check_everything();
    const bool is_due = wakes_at_ <= now.instant;
    EXPECT_EQ(decided && !is_due ? left_undone() : "", "") << "waits for another event";
    return out;
  }

  /// What the next event would make it do that it could have done with the last one.
  std::string left_undone() const {
    std::string out;
    for (const Effect& effect : coordinator.copy().step(now, Woke{})) {
      if (std::holds_alternative<WakeAt>(effect)) continue;
      out += std::holds_alternative<Append>(effect) ? "a record; " : describe(effect);
    }
    return out;
  }

  static Request budget(Bytes vram) { return {.vram = vram}; }
  static Request whole() { return {.share = Share::kExclusive}; }

  std::string ask(Request request, std::uint32_t user = 1000) {
    ++handles;
    return feed(
        Submit{{handles}, {{user}}, {0, handles}, process(1000 + handles), std::move(request)});
  }
  /// The n-th lease asked for takes up its offer with a process whose pid is its number.
  std::string claim(std::uint64_t n) {
    return feed(Claim{{n}, {{1000}, true}, {0, n}, {process(n)}});
  }
  static Process process(std::uint64_t n) { return {static_cast<std::int32_t>(n), n}; }
  /// The command of lease n ends, and the driver lists nothing of it.
  std::string end(std::uint64_t n) {
    std::string out = feed(ReportExit{{n}, {{1000}, true}, {0, n}});
    return out + feed(ProcessEnded{process(n)}) + sample();
  }
  std::string sample() { return feed(Sampled{{now.instant, now.instant, true, "", "", hardware}}); }
  /// Process n uses `bytes` on a device; 0: it is no longer listed.
  void use(std::uint64_t n, Bytes bytes, std::size_t on = 0, bool alive = true) {
    auto& processes = *hardware[on].processes;
    std::erase_if(processes,
                  [&](const ProcessSample& p) { return p.process.pid == process(n).pid; });
    if (bytes > Bytes{}) {
      Process who = process(n);
      if (!alive) who.start_ticks = 0;
      processes.push_back({.process = who, .used = bytes, .user = {1000}, .alive = alive});
    }
    Bytes sum;
    for (const ProcessSample& p : processes) sum += *p.used;
    hardware[on].used = sum;
  }
  std::string pass(Duration time) {
    now.instant = now.instant + time;
    now.wall.value += time.ns / 1'000'000;
    return feed(Woke{});
  }
  /// A second later, the next sample.
  std::string second() {
    now.instant = now.instant + seconds(1);
    now.wall.value += 1'000;
    return sample();
  }
  /// What is told in so many seconds.
  std::string seconds_pass(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += pass(seconds(1));
      out += sample();
    }
    return out;
  }
  /// The last that was begun.
  std::optional<Transfer> last_move() const {
    std::optional<Transfer> last;
    for (const Effect& effect : effects) {
      if (const auto* move = std::get_if<Transfer>(&effect)) last = *move;
    }
    return last;
  }
  /// What was said with the last refusal, of a request that ended without a grant as well.
  std::string refusal() const {
    std::string last;
    for (const Effect& effect : effects) {
      const auto* news = std::get_if<Notify>(&effect);
      if (news != nullptr && !news->refusal.empty()) last = news->refusal.front().message;
      const auto* reply = std::get_if<Reply>(&effect);
      if (reply == nullptr) continue;
      if (const auto* refusal = std::get_if<Refusal>(&reply->answer)) last = refusal->message;
    }
    return last;
  }
  LeaseState state(std::uint64_t id) { return coordinator.lease({id}, now)->state; }
  DeviceView look(std::size_t at = 0) { return coordinator.devices(now)[at]; }

  /// A new coordinator from the records so far, as after a restart.
  void restart(Settings settings = {.order = Order::kFifo}, bool same_boot = true) {
    Coordinator fresh(std::move(settings));
    for (const Effect& effect : effects) {
      if (const auto* append = std::get_if<Append>(&effect)) {
        if (!fresh.apply(append->record).ok()) ++records_refused;
      }
    }
    coordinator = std::move(fresh);
    (void)feed(Recovered{.same_boot = same_boot});
  }

  /// The same from a snapshot, in place of all records before it.
  void restart_from_snapshot(Settings settings = {.order = Order::kFifo}) {
    Coordinator fresh(std::move(settings));
    for (const Record& record : coordinator.snapshot(now)) {
      if (!fresh.apply(record).ok()) ++records_refused;
    }
    coordinator = std::move(fresh);
    (void)feed(Recovered{.same_boot = true});
  }

  Coordinator coordinator;
  std::vector<DeviceSample> hardware;
  std::vector<Effect> effects;
  Now now{{1'000'000'000'000}, {1'700'000'000'000}};
  std::uint64_t handles = 0;
  int records_refused = 0;
  bool tells_measures = false;
  bool tells_pressure = false;  // It comes with many samples, and is no matter of most tests.

 private:
  std::string describe(const Effect& effect) const {
    if (const auto* reply = std::get_if<Reply>(&effect)) {
      if (const auto* refusal = std::get_if<Refusal>(&reply->answer)) {
        return "refuse " + std::string(to_text(refusal->code)) + "; ";
      }
      const LeaseView& view = *std::get<Boxed<LeaseView>>(reply->answer);
      return std::string(to_text(view.state)) + " " + std::to_string(view.id.value) + "; ";
    }
    if (const auto* news = std::get_if<Notify>(&effect)) {
      if (news->news == LeaseEvent::kPressure && !tells_pressure) return "";
      if (news->news == LeaseEvent::kMeasure && !tells_measures) return "";
      static const std::map<LeaseEvent, std::string> kWords = {
          {LeaseEvent::kGranted, "grant "},       {LeaseEvent::kEnded, "end "},
          {LeaseEvent::kParked, "park "},         {LeaseEvent::kUnparked, "unpark "},
          {LeaseEvent::kResized, "resize "},      {LeaseEvent::kOverBudget, "over "},
          {LeaseEvent::kInBudget, "in budget "},  {LeaseEvent::kFull, "full "},
          {LeaseEvent::kNotFull, "not full "},    {LeaseEvent::kDegraded, "degraded "},
          {LeaseEvent::kRevoked, "revoke "},      {LeaseEvent::kAstray, "astray "},
          {LeaseEvent::kCheckpoint, "save "},     {LeaseEvent::kCheckpointed, "save over "},
          {LeaseEvent::kPressure, "pressure "},   {LeaseEvent::kSuspended, "suspend "},
          {LeaseEvent::kResumed, "resume "},      {LeaseEvent::kFrozen, "freeze "},
          {LeaseEvent::kRequeue, "stop "},        {LeaseEvent::kRequeuing, "stopping "},
          {LeaseEvent::kRequeued, "requeue "},    {LeaseEvent::kRequeueDropped, "no requeue "},
          {LeaseEvent::kMeasure, "measure "},     {LeaseEvent::kDetached, "detach "},
          {LeaseEvent::kMessageSent, "message "}, {LeaseEvent::kMessageAnswered, "answer "}};
      return kWords.at(news->news) + std::to_string(news->lease.value) + "; ";
    }
    if (const auto* unmanaged_process = std::get_if<NotifyUnmanaged>(&effect)) {
      return (unmanaged_process->news.gone ? "gone " : "came ") +
             std::to_string(unmanaged_process->news.unmanaged_process.process.pid) + "; ";
    }
    if (const auto* move = std::get_if<Transfer>(&effect)) {
      static const std::map<Direction, std::string> kWords = {{Direction::kSwapOut, "move out "},
                                                              {Direction::kSwapIn, "move back "},
                                                              {Direction::kFreeze, "stop "},
                                                              {Direction::kThaw, "let go on "}};
      return kWords.at(move->direction) + std::to_string(move->lease.value) + "; ";
    }
    if (const auto* signal = std::get_if<Signal>(&effect)) {
      return "signal " + std::to_string(signal->signal) + " to " +
             std::to_string(signal->process.pid) + "; ";
    }
    return "";
  }

  Instant wakes_at_ = Instant::never();
};

/// One GPU of 16 GiB, of which nothing is reserved unless the settings say so.
class StoryTest : public testing::Test {
 protected:
  using Outcome = TransferResult::Outcome;

  StoryTest() : StoryTest(Settings{.order = Order::kFifo, .reserve = {}}) {}
  explicit StoryTest(Settings settings, std::vector<Bytes> devices = {gib(16)})
      : story(std::move(settings), std::move(devices)) {}

  /// Lease n, which was granted, is claimed, and its command uses so much.
  void run(std::uint64_t n, Bytes used) {
    (void)story.claim(n);
    story.use(n, used);
    (void)story.second();
  }
  std::string seconds_pass(int count) { return story.seconds_pass(count); }
  /// What came of the last move.
  std::string transfer_done(Outcome outcome = Outcome::kDone, const std::string& trouble = {}) {
    const Transfer move = story.last_move().value();
    return story.feed(TransferDone{move.lease, move.number, {outcome, trouble}});
  }
  /// It is away, and so much was on the first device when it was locked.
  std::string left(Bytes bytes) {
    const Transfer move = story.last_move().value();
    TransferResult result;
    result.left = {{device(0), bytes}};
    return story.feed(TransferDone{move.lease, move.number, result});
  }
  LeaseView lease(std::uint64_t id = 1) const { return *story.coordinator.lease({id}, story.now); }

  Story story;
};

}  // namespace berth::core
