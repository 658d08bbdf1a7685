// SPDX-License-Identifier: Apache-2.0
// A machine with one GPU, some leases and a queue, as the tests of this folder look at it. For
// tests only.
#pragma once

#include <vector>

#include "cli/render/context.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli::sample {

inline constexpr UnixMs kNow = {1'770'470'100'123};  // 2026-02-07T13:15:00.123Z
inline constexpr DeviceId kDevice = {0x5a1c'0d2e'0000'4000, 0x8000'0000'0000'0001};
inline constexpr UserId kMe = {1000};
inline constexpr UserId kGuest = {1001};

inline Bytes tenths_of_gib(std::uint64_t tenths) {
  return {tenths * gib(1).value / 10};
}
inline UnixMs ago(Duration duration) {
  return {kNow.value - duration.ns / 1'000'000};
}
inline UnixMs in(Duration duration) {
  return {kNow.value + duration.ns / 1'000'000};
}

inline RenderContext context() {
  return {.charset = {.unicode = true},
          .width = 120,
          .now = kNow,
          .me = kMe,
          .user_name = [](UserId user) { return std::string(user == kMe ? "me" : "guest"); }};
}

inline LeaseView held() {
  LeaseView lease{.id = {12}, .handle = {1, 2}, .user = kMe, .state = LeaseState::kHeld};
  lease.request.name = "hybrid-train";
  lease.request.command = "python train.py --epochs 90 --model gpt2-small-hybrid";
  lease.request.vram = gib(11);
  lease.request.eta = hours(2);
  lease.parts = {{.device = kDevice,
                  .index = 0,
                  .granted = gib(11),
                  .used = tenths_of_gib(98),
                  .peak = tenths_of_gib(102)}};
  lease.command = Process{4711, 99};
  lease.supervisor = Process{4710, 98};
  lease.queued_at = ago(minutes(63));
  lease.started_at = ago(minutes(62));
  lease.expected_end = in(minutes(14));
  lease.progress = Progress{
      .done = 812, .total = 1'000, .left = minutes(14), .note = "epoch 8", .at = ago(seconds(2))};
  return lease;
}

/// Of 12: suspended, so that 9 of another user has room.
inline LeaseView yielding() {
  LeaseView lease = held();
  lease.state = LeaseState::kSuspended;
  lease.halt = Halt{.reason = Halt::Reason::kYields,
                    .since = ago(seconds(12)),
                    .lease = LeaseId{9},
                    .user = kGuest,
                    .name = "urgent",
                    .priority = Priority::kUrgent};
  return lease;
}

inline LeaseView idle() {
  LeaseView lease{.id = {13}, .handle = {3, 4}, .user = kGuest, .state = LeaseState::kHeld};
  lease.request.name = "self-hosted";
  lease.request.command = "ollama serve";
  lease.request.vram = gib(3);
  lease.parts = {{.device = kDevice, .index = 0, .granted = gib(3)}};
  lease.queued_at = ago(minutes(12));
  lease.started_at = ago(minutes(12));
  return lease;
}

inline LeaseView waiting() {
  LeaseView lease{.id = {14}, .handle = {5, 6}, .user = kMe, .state = LeaseState::kWaiting};
  lease.request.name = "sweep";
  lease.request.command = "./sweep.sh";
  lease.request.vram = gib(6);
  lease.queue_position = 1;
  lease.queued_at = ago(seconds(252));
  lease.waited = seconds(252);
  return lease;
}

inline LeaseView ended() {
  LeaseView lease{.id = {9}, .handle = {7, 8}, .user = kMe, .state = LeaseState::kEnded};
  lease.request.name = "old";
  lease.request.command = "false";
  lease.result = EndResult::kFailed;
  lease.exit = ExitStatus{.code = 3};
  lease.queued_at = ago(minutes(30));
  lease.started_at = ago(minutes(29));
  lease.ended_at = ago(minutes(25));
  return lease;
}

inline DeviceView device() {
  DeviceView device{.id = kDevice, .model = "RTX 5080", .pci_bus = "0000:01:00.0"};
  device.capacity = tenths_of_gib(159);
  device.used = tenths_of_gib(119);
  device.unmanaged = tenths_of_gib(4);
  device.held_back = tenths_of_gib(5);
  device.charged = gib(14);
  device.granted = gib(14);
  device.grantable = tenths_of_gib(14);
  device.sample_age = milliseconds(300);
  device.leases = {{12}, {13}};
  device.unmanaged_processes = {
      {.process = {815, 1}, .user = kGuest, .name = "firefox", .used = tenths_of_gib(4)}};
  return device;
}

inline WhyView why() {
  WhyView why{.id = {14}, .reason = WhyView::Reason::kMemory, .position = 1};
  why.waited = seconds(252);
  why.shortages = {{.device = kDevice,
                    .index = 0,
                    .capacity = tenths_of_gib(159),
                    .held_back = tenths_of_gib(5),
                    .charged = gib(14),
                    .grantable = tenths_of_gib(14),
                    .missing = tenths_of_gib(46)}};
  why.holders = {{.lease = {12},
                  .user = kMe,
                  .name = "hybrid-train",
                  .charged = gib(11),
                  .expected_end = in(minutes(14)),
                  .devices = {{.device = kDevice, .charged = gib(11)}}},
                 {.lease = {13},
                  .user = kGuest,
                  .name = "self-hosted",
                  .charged = gib(3),
                  .devices = {{.device = kDevice, .charged = gib(3)}}}};
  why.expected_start = in(minutes(14));
  why.remedies = {{.kind = Remedy::Kind::kAskLess, .bytes = tenths_of_gib(14)},
                  {.kind = Remedy::Kind::kPauseLease, .lease = {13}},
                  {.kind = Remedy::Kind::kShrinkLease, .lease = {12}, .bytes = tenths_of_gib(102)}};
  return why;
}

/// Two GPUs, and on each another lease: GPU 1 has less to spare, and its holder has more.
inline WhyView why_on_two() {
  WhyView why = sample::why();
  const DeviceId other = {kDevice.high, kDevice.low + 1};
  why.devices_wanted = 2;
  why.shortages.push_back(why.shortages[0]);
  why.shortages[1].device = other;
  why.shortages[1].index = 1;
  why.holders[0].devices[0].device = other;
  return why;
}

}  // namespace berth::cli::sample
