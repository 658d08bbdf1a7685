// SPDX-License-Identifier: Apache-2.0
// Records for tests and benchmarks: one of each fact with every field set, and generators for any
// record. Not part of a program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/record.h"

namespace berth::samples {

inline Request request() {
  Request request;
  request.name = "train-7";
  request.session = "ana/bert";
  request.command = "python train.py --epochs 3 --data '/srv/data set'";
  request.labels = {{"team", "vision"}, {"ticket", "A-12"}};
  request.priority = Priority::kHigh;
  request.vram = gib(8);
  request.device_count = 2;
  request.devices = {DeviceName{std::uint32_t{1}}, DeviceName{DeviceId{1, 2, true}}};
  request.mixed = true;
  request.eta = minutes(40);
  request.limit = hours(2);
  request.wait_max = minutes(5);
  request.ttl = seconds(90);
  request.leftovers = Leftovers::kKill;
  request.over_budget = OverBudget::kKill;
  request.may_yield = true;
  request.learned = true;
  request.ancestors = {{4}, {5}};
  request.checkpoint = CheckpointWay{CheckpointKind::kHttp, seconds(30), minutes(10)};
  request.requeue_grace = seconds(20);
  return request;
}

inline std::vector<Part> parts() {
  return {{{0x5a1c0d2e01234567, 0x89abcdef01234567}, gib(8)}, {{1, 2, true}, gib(8)}};
}

inline LeaseView lease() {
  LeaseView view;
  view.id = {12};
  view.handle = {0x0123456789abcdef, 42};
  view.user = {1000};
  view.request = request();
  view.state = LeaseState::kHeld;
  view.flags = {.over_budget = true,
                .parked = true,
                .revoking = true,
                .degraded = true,
                .unclaimed = true,
                .full = true,
                .checkpointing = true};
  view.result = EndResult::kOk;
  view.exit = ExitStatus{1, 9};
  view.command = Process{4711, 123456};
  view.supervisor = Process{4710, 123455};
  view.members = {{4712, 123460}, {4713, 123470}};
  view.parts = {{{1, 2}, 0, gib(8), gib(3), gib(5)}, {{3, 4}, {}, gib(8), {}, {}}};
  view.queue_position = 3;
  view.queued_at = {1770470100123};
  view.started_at = UnixMs{1770470100456};
  view.ended_at = UnixMs{1770470200000};
  view.expected_end = UnixMs{1770470300000};
  view.expires_at = UnixMs{1770470400000};
  view.waited = milliseconds(333);
  view.checkpoints.asked = CheckpointAsk{4, CheckpointReason::kLimit, {1770470250000}};
  view.checkpoints.last = CheckpointEnd{3,
                                        CheckpointReason::kPeriodic,
                                        CheckpointOutcome::kTimedOut,
                                        "not within 30s",
                                        {1770470240000}};
  view.checkpoints.saved = UnixMs{1770470230000};
  view.restarts = 2;
  view.pause = Pause{{1770470260000}, "lunch", UnixMs{1770470270000}, UserId{1001}};
  view.moved_by = UserId{1002};
  view.ended_by = UserId{1003};
  view.measures = {{.number = 2,
                    .measure = Measure::kCheckpoint,
                    .cause = Cause::kOverBudget,
                    .save = 3,
                    .begun = {63},
                    .at = {1770470235000},
                    .outcome = MeasureOutcome::kFailed,
                    .detail = "not within 30s"}};
  return view;
}

inline GrowthQueued growth() {
  return {{12}, gib(10), Instant{77}};
}

inline LeaseRestored restored() {
  const LeaseId id{12};
  LeaseRestored restored;
  restored.view = lease();
  restored.queued_instant = {55};
  restored.queued_sequence = 9;
  restored.granted_instant = Instant{66};
  restored.granted_sequence = 10;
  restored.passed_since = Instant{67};
  restored.parked_since = Instant{73};
  restored.passed_others = true;
  restored.claimed = true;
  restored.command_ended = true;
  restored.expires = Instant{68};
  restored.kill_at = Instant{69};
  restored.ending = EndResult::kLimit;
  restored.releasing_since = Instant{74};
  restored.growth = growth();
  restored.growth_queued = Instant{75};
  restored.checkpoint_asked = Instant{76};
  restored.suspension = SuspendBegun{id, {gib(7), gib(3)}, LeaseId{14}, true};
  restored.suspended_since = Instant{76};
  restored.suspended = true;
  restored.resume_queued = Instant{78};
  restored.resume_sequence = 11;
  restored.resume_begun = true;
  restored.runs_since = Instant{80};
  restored.away = minutes(3);
  restored.requeue = RequeueAsked{id, true, UserId{1004}};
  restored.requeue_kill_at = Instant{79};
  restored.waited_before = minutes(4);
  restored.pause_ends = Instant{81};
  restored.moved_from = {{0x5a1c0d2e01234567, 0x89abcdef01234567}};
  restored.departed = {{4714, 123480}, {4715, 123490}};
  restored.frozen = true;
  return restored;
}

/// One of each fact, in the order of Fact, with every field set; sequence numbers from 1.
inline std::vector<Record> all_facts() {
  const LeaseId id{12};
  std::vector<Fact> facts = {
      RequestQueued{id, {0x0123456789abcdef, 42}, {1000}, Process{4710, 123455}, request()},
      RequestPassed{id},
      RequestParked{id, false},
      LeaseGranted{id, parts(), true},
      OfferLapsed{id, false},
      LeaseClaimed{id, Process{4711, 123456}},
      MemberSeen{id, {4712, 123460}},
      MemberGone{id, {4712, 123460}},
      CommandEnded{id, ExitStatus{1, 9}},
      LeaseResized{id, Share::kExclusive, parts()},
      growth(),
      GrowthDropped{id},
      LeaseRenewed{id, {70}, {1770470400000}},
      LeaseRevoked{id, EndResult::kLimit, {71}, UserId{1001}},
      LeaseReleasing{id, EndResult::kFailed, UserId{1001}},
      LeaseEnded{id, EndResult::kLost, {{parts().front().device, gib(7), 3}}, UserId{1001}},
      CheckpointAsked{id, 4, CheckpointReason::kLimit},
      CheckpointEnded{id, 4, CheckpointOutcome::kFailed, "answered 500"},
      restored(),
      UsageRestored{{1000}, "ana/bert", 1.5e17, {72}},
      CommandRestored{{1000}, 0xffff'0000'1234'5678, {{gib(7), true}, {gib(9), false}}},
      CountersRestored{13, 1'000},
      SuspendBegun{id, {gib(7), gib(3)}, LeaseId{14}, true},
      LeaseSuspended{id, {gib(3)}},
      ResumeQueued{id, true},
      ResumeBegun{id},
      LeaseResumed{id},
      RequeueAsked{id, true, UserId{1004}},
      RequeueBegun{id, {80}},
      RequeueDropped{id, EndResult::kCancelled},
      LeaseRequeued{id},
      LeaseFrozen{id},
      LeaseThawed{id},
      MeasureBegun{id, 3, Measure::kCheckpoint, Cause::kLeaseCritical, 5},
      MeasureEnded{id, 3, MeasureOutcome::kConfirmed, "out/a.pt"},
      LeasePaused{id, "lunch", Instant{90}, UnixMs{1770470109000}, UserId{1001}},
      LeaseMoved{id, {{0x5a1c0d2e01234567, 0x89abcdef01234567}}, UserId{1001}},
  };
  std::vector<Record> records;
  for (Fact& fact : facts) {
    const std::uint64_t sequence = records.size() + 1;
    records.push_back({sequence,
                       {static_cast<std::int64_t>(sequence) * 1'000'000'007},
                       {1770470100000 + static_cast<std::int64_t>(sequence)},
                       std::move(fact)});
  }
  return records;
}

/// As the coordinator writes most: a grant on one device.
inline Record typical(std::uint64_t sequence) {
  return {sequence,
          {86'400'000'000'000},
          {1770470100123},
          LeaseGranted{{sequence}, {{{0x5a1c0d2e01234567, 0x89abcdef01234567}, gib(8)}}, false}};
}

}  // namespace berth::samples
