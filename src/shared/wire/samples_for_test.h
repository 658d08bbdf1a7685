// SPDX-License-Identifier: Apache-2.0
// One full example of each answer, every field of it set, for the tests of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sample_for_test.h"
#include "base/units.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/daemon.h"
#include "wire/history.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::wire::samples {

inline constexpr UserId kAnna{1000};
inline constexpr UserId kBert{1001};

inline const UserNames& names() {
  static const UserNames kNames = {{kAnna, "anna"}, {kBert, "bert"}};
  return kNames;
}

inline DeviceId device(std::uint64_t n) {
  return {.high = 0x5a1c0d2e00000000, .low = n};
}

inline RequestBody request() {
  RequestBody body = full_sample<RequestBody>();
  body.request.command = "python train.py --lr \"1e-3\"";
  body.request.device_count = 2;
  body.request.devices = {DeviceName{1U}, DeviceName{device(2)}};
  return body;
}

/// One that failed, and one under way.
inline std::vector<MeasureTaken> measures() {
  return {{.number = 1,
           .measure = Measure::kCheckpoint,
           .cause = Cause::kLeaseCritical,
           .begun = {},
           .at = {1'770'470'190'000},
           .outcome = MeasureOutcome::kFailed,
           .detail = "answered 500"},
          {.number = 2,
           .measure = Measure::kSuspend,
           .cause = Cause::kOverBudget,
           .begun = {},
           .at = {1'770'470'310'000},
           .outcome = {},
           .detail = {}}};
}

/// Held by Anna, on two devices.
inline LeaseView held() {
  LeaseView view = full_sample<LeaseView>();
  view.id = {12};
  view.user = kAnna;
  view.request = request().request;
  view.request.devices.clear();
  view.request.ancestors.clear();  // These are not sent.
  view.state = LeaseState::kHeld;
  view.flags = {.over_budget = true,
                .degraded = true,
                .astray = true,
                .full = true,
                .checkpointing = true,
                .requeuing = true};
  view.result.reset();
  view.exit.reset();
  view.queue_position.reset();
  view.ended_at.reset();
  view.ended_by.reset();
  view.halt.reset();
  view.parts = {{.device = device(1),
                 .index = 0,
                 .granted = gib(4),
                 .used = gib(5),
                 .peak = gib(6),
                 .ledger = Bytes{gib(5).value - 1024},
                 .drift = 1024,
                 .refused = 3,
                 .wanted = gib(2),
                 .gpu_utilization = 85},
                {.device = device(2),
                 .index = 1,
                 .granted = gib(4),
                 .used = gib(1),
                 .peak = gib(2),
                 .ledger = gib(1) + kib(1),
                 .drift = -1024,
                 .refused = 0}};
  view.measures = measures();
  view.moved_by = kAnna;
  view.requeued_by = kBert;
  return view;
}

/// Bert's, for a whole device.
inline LeaseView waiting() {
  LeaseView view;
  view.id = {14};
  view.handle = {.high = 1, .low = 2};
  view.user = kBert;
  view.request.command = "./sweep.sh";
  view.request.share = Share::kExclusive;
  view.request.devices = {DeviceName{0U}, DeviceName{device(2)}};
  view.queue_position = 1;
  view.queued_at = {1'770'470'100'000};
  view.waited = minutes(4);
  return view;
}

/// Anna's, killed by signal 9.
inline LeaseView ended() {
  LeaseView view = held();
  view.id = {11};
  view.state = LeaseState::kEnded;
  view.flags = {};
  view.strays.clear();
  view.result = EndResult::kKilled;
  view.exit = ExitStatus{.signal = 9};
  view.ended_at = UnixMs{1'770'470'102'000};
  view.moved_by.reset();
  view.requeued_by.reset();
  view.left_alone.clear();
  view.ended_by = kBert;
  return view;
}

inline DeviceView device_view() {
  DeviceView view = full_sample<DeviceView>();
  view.id = device(1);
  view.ignored = mib(100);
  view.unmanaged_processes = {{.process = {.pid = 900, .start_ticks = 5},
                               .user = kBert,
                               .name = "firefox",
                               .used = mib(400)},
                              {.process = {.pid = 4712, .start_ticks = 101},
                               .user = kAnna,
                               .name = "worker",
                               .used = mib(512),
                               .lease = LeaseId{12}}};
  return view;
}

inline std::vector<Shortage> shortages() {
  return {{.device = device(1),
           .index = 1,
           .capacity = gib(16),
           .held_back = mib(700),
           .charged = gib(14),
           .grantable = gib(1),
           .missing = gib(5),
           .unmanaged = mib(400)}};
}

inline Halt halt() {
  return {.reason = Halt::Reason::kYields,
          .since = UnixMs{1'770'470'300'500},
          .lease = LeaseId{9},
          .user = kBert,
          .name = "urgent",
          .priority = Priority::kUrgent};
}

inline WhyView why() {
  WhyView view;
  view.id = {14};
  view.state = LeaseState::kWaiting;
  view.reason = WhyView::Reason::kMemory;
  view.position = 3;
  view.ahead = {{12}, {13}};
  view.ahead_count = 2;
  view.waited = minutes(4);
  view.shortages = shortages();
  view.holders = {{.lease = {12},
                   .user = kAnna,
                   .name = "train-gpt2",
                   .charged = gib(11),
                   .expected_end = UnixMs{1'770'473'701'000},
                   .has_ended = true,
                   .devices = {{.device = device(1), .charged = gib(11)}}}};
  view.expected_start = UnixMs{1'770'473'701'000};
  view.remedies = {{.kind = Remedy::Kind::kShrinkLease, .lease = {12}, .bytes = gib(10)},
                   {.kind = Remedy::Kind::kOtherDevice, .device = device(2)},
                   {.kind = Remedy::Kind::kPauseLease, .lease = {12}, .also = {{13}, {15}}}};
  view.devices_wanted = 2;
  view.devices_fitting = 1;
  view.limit = LoweredLimit{
      .kind = LoweredLimit::Kind::kVram, .allowed = gib(4).value, .asked = gib(8).value};
  view.halt = halt();
  return view;
}

inline FitView fit() {
  FitView view;
  view.fits = true;
  view.devices = {device(1), device(2)};
  view.expected_start = UnixMs{1'770'473'701'000};
  view.largest = gib(9);
  view.ahead_count = 4;
  view.devices_wanted = 2;
  view.devices_fitting = 3;
  view.shortages = shortages();
  view.holders = why().holders;
  view.remedies = why().remedies;
  return view;
}

inline StatusAnswer status() {
  return {.time = {1'770'470'110'000},
          .simulated = true,
          .trouble = "the driver has not answered for 3 s",
          .devices = {device_view()},
          .leases = {held()},
          .queue = {waiting()}};
}

inline DaemonView daemon() {
  DaemonView view;
  view.pid = 321;
  view.version = "0.1.0";
  view.started = {1'770'470'000'000};
  view.socket = "/run/berth/berthd.sock";
  view.state_dir = "/var/lib/berth";
  view.mode = DaemonView::Mode::kSystem;
  view.world = "real";
  view.trouble = "no driver";
  view.probe = {.state = "stale",
                .sample_age = milliseconds(4'000),
                .restarts = 2,
                .driver_version = "570.1",
                .trouble = "no answer for 3 s"};
  view.counts = {.waiting = 1, .held = 2, .releasing = 3, .connections = 4, .event_streams = 5};
  view.journal = {.path = "/var/lib/berth/leases.db",
                  .sequence = 1'000,
                  .records = 10,
                  .safe_mode = true,
                  .trouble = "No space left on device"};
  return view;
}

inline Alert alert() {
  return {.rule = "gpu-high",
          .subject = {.kind = Alert::Subject::Kind::kDevice,
                      .device = device(1),
                      .name = "GPU 0 (RTX 5080)"},
          .text = "GPU 0 uses 14.2 GiB of 16.0 GiB (89 %)",
          .value = 884,
          .unit = Alert::Unit::kShare,
          .severity = Severity::kCritical,
          .time = {1'770'470'030'000},
          .since = {1'770'470'000'000},
          .actions = {{Alert::Action::Verb::kPause, {12}, "Pause train"}}};
}

inline RuleView rule() {
  return {.name = "gpu-high",
          .when = "gpu.mem_used > 88%",
          .severity = Severity::kCritical,
          .repeat = hours(1),
          .channels = {"events", "webhook"},
          .undelivered = 2,
          .last_delivery = Delivered{.channel = "webhook",
                                     .outcome = "retry",
                                     .status = 503,
                                     .reason = "answered 503",
                                     .time = {1'770'470'031'000}},
          .states = {{.subject = alert().subject,
                      .text = alert().text,
                      .firing = true,
                      .since = {1'770'470'000'000}}}};
}

/// A device, a lease and one of its processes, and a process of no lease.
inline history::Past past() {
  const auto series = [](history::Subject subject, std::string name) {
    subject.device = device(1);
    return history::Series{
        .subject = subject,
        .name = std::move(name),
        .user = subject.lease == LeaseId{} && subject.process.pid == 0 ? UserId{} : kAnna,
        .buckets = {{.start = 1'770'470'100, .known = 4, .least = {1}, .most = {9}, .total = 20},
                    {.start = 1'770'470'160, .known = 1, .least = {7}, .most = {7}, .total = 7}}};
  };
  return {.step = minutes(1),
          .series = {series({.figure = history::Figure::kUnmanaged}, ""),
                     series({.lease = {12}, .figure = history::Figure::kGranted}, "train"),
                     series({.lease = {12}, .process = {4'711}}, "python"),
                     series({.process = {4'712}}, "firefox")},
          .cut = true};
}

inline PastFacts past_facts() {
  return {.time = {1'770'470'200'123},
          .since = {1'770'470'100'000},
          .until = {1'770'470'200'000},
          .indices = {{device(1), 3}},
          .names = names()};
}

/// One that has ended, and one of which little is known.
inline std::vector<history::Session> sessions() {
  return {{.id = {12},
           .user = kAnna,
           .name = "train",
           .session = "anna-laptop",
           .share = Share::kExclusive,
           .devices = 2,
           .granted = gib(8),
           .queued = {1'770'470'100'000},
           .started = {1'770'470'103'000},
           .ended = UnixMs{1'770'470'113'000},
           .result = EndResult::kFailed,
           .peak = gib(3),
           .known_ms = 9'000,
           .used_mib_ms = 5'000,
           .unused_mib_ms = 7'000},
          {.id = {13}, .user = kBert, .devices = 1, .started = {1'770'470'103'000}}};
}

}  // namespace berth::wire::samples
