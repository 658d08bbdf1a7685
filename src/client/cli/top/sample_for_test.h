// SPDX-License-Identifier: Apache-2.0
// The machine of two GPUs, five leases and two requests that the tests of this folder look at.
#pragma once

#include <vector>

#include "cli/render/sample_test.h"
#include "wire/live.h"

namespace berth::cli::top::sample {

using cli::sample::ago;
using cli::sample::in;
using cli::sample::kGuest;
using cli::sample::kMe;
using cli::sample::kNow;
using cli::sample::tenths_of_gib;

inline constexpr DeviceId kFirst = {0x5a1c'0d2e'0000'4000, 0x8000'0000'0000'0001};
inline constexpr DeviceId kSecond = {0x5a1c'0d2e'0000'4000, 0x8000'0000'0000'0002};

struct Held {
  std::uint64_t id;
  const char* name;
  UserId user;
  std::uint32_t gpu;
  std::uint64_t granted;  // Tenths of GiB, as the next.
  std::uint64_t used;
  std::uint32_t busy;
  std::int64_t minutes;
};

inline LeaseView lease(const Held& of) {
  LeaseView lease{.id = {of.id}, .user = of.user, .state = LeaseState::kHeld};
  lease.request.name = of.name;
  lease.request.command = "python " + std::string(of.name) + ".py";
  lease.parts = {{.device = of.gpu == 0 ? kFirst : kSecond,
                  .index = of.gpu,
                  .granted = tenths_of_gib(of.granted),
                  .used = tenths_of_gib(of.used),
                  .peak = tenths_of_gib(of.used + 3),
                  .gpu_utilization = of.busy}};
  lease.command = Process{static_cast<std::int32_t>(of.id + 4'000), 9};
  lease.started_at = ago(minutes(of.minutes));
  lease.queued_at = *lease.started_at;
  return lease;
}

inline LeaseView request(std::uint64_t id, const char* name, std::uint64_t gibs, UserId user) {
  LeaseView lease{.id = {id}, .user = user, .state = LeaseState::kWaiting};
  lease.request.name = name;
  lease.request.vram = gib(gibs);
  lease.queued_at = ago(minutes(6));
  lease.waited = minutes(6);
  return lease;
}

inline wire::LiveSnapshot snapshot() {
  wire::LiveSnapshot snapshot{.epoch = "e", .sequence = 1, .host = "workbench"};
  snapshot.viewer = {.user = kMe, .may_act = true};
  snapshot.status.time = kNow;
  std::vector<LeaseView>& leases = snapshot.status.leases;
  leases = {lease({11, "notebook-ft", kMe, 1, 140, 0, 0, 78}),
            lease({12, "hybrid-train", kMe, 0, 110, 98, 85, 62}),
            lease({13, "notebook", kMe, 0, 30, 21, 0, 12}),
            lease({15, "vllm-qwen", kGuest, 1, 320, 306, 40, 252}),
            lease({19, "eval-llama", kMe, 1, 120, 102, 12, 22})};
  leases[0].state = LeaseState::kSuspended;
  leases[0].parts[0].used.reset();
  leases[1].expected_end = in(minutes(14));
  leases[2].command.reset();
  leases[2].request.command.clear();
  leases[2].idle_since = ago(minutes(9));
  snapshot.status.queue = {request(21, "finetune-8b", 24, kMe), request(22, "sd-xl", 6, kGuest)};
  snapshot.status.devices = {
      {.id = kFirst,
       .index = 0,
       .model = "RTX 5080",
       .capacity = tenths_of_gib(159),
       .used = tenths_of_gib(123),
       .unmanaged = tenths_of_gib(4),
       .figures = {.gpu_utilization = 87,
                   .temperature = 61,
                   .power_milliwatts = 238'000,
                   .power_limit_milliwatts = 360'000},
       .held_back = tenths_of_gib(5),
       .granted = gib(14),
       .grantable = tenths_of_gib(14),
       .sample_age = seconds(1),
       .leases = {{12}, {13}},
       .unmanaged_processes =
           {{.process = {900, 5}, .user = kMe, .name = "firefox", .used = tenths_of_gib(4)}}},
      {.id = kSecond,
       .index = 1,
       .model = "H100 PCIe",
       .capacity = tenths_of_gib(796),
       .used = tenths_of_gib(408),
       .unmanaged = Bytes{},
       .figures = {.gpu_utilization = 52,
                   .temperature = 91,
                   .power_milliwatts = 291'000,
                   .throttle = Throttle::kThermal},
       .held_back = tenths_of_gib(10),
       .granted = gib(44),
       .grantable = tenths_of_gib(346),
       .sample_age = seconds(1),
       .leases = {{15}, {19}}}};
  snapshot.alerts.items = {
      {.name = "gpu-high", .states = {{.text = "GPU 1 is hot", .firing = true}}}};
  snapshot.events = {{.at = ago(minutes(1)),
                      .verb = berth::Verb::kCheckpoint,
                      .by = kMe,
                      .lease = {19},
                      .owner = kMe,
                      .name = "eval-llama"},
                     {.at = ago(minutes(12)),
                      .verb = berth::Verb::kGrant,
                      .lease = {13},
                      .owner = kMe,
                      .name = "notebook",
                      .reason = "3.0 GiB on GPU 0"}};
  return snapshot;
}

}  // namespace berth::cli::top::sample
