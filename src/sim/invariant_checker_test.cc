// SPDX-License-Identifier: Apache-2.0
#include "sim/invariant_checker.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/coordinator.h"

namespace berth::sim {
namespace {

/// A GPU of 16 GiB with 1 GiB in reserve, most of which an unmanaged process uses. One lease holds
/// the rest; another has ended, and the driver has not freed all that a process of it had.
class LeftBehind : public testing::Test {
 protected:
  static constexpr LeaseId kEnded{1};
  static constexpr LeaseId kHolds{2};
  static constexpr DeviceId kGpu{1, 2, false};

  LeftBehind() {
    const Process unmanaged_process = processes.spawn({});
    const Process command = processes.spawn({.parent = {},
                                             .user = {1000},
                                             .name = "",
                                             .lease = Handle{7, 1},
                                             .outer = {},
                                             .on_end = {}});
    EXPECT_TRUE(devices.allocate(unmanaged_process, 0, mib(800)));
    EXPECT_TRUE(devices.allocate(command, 0, mib(500)));
    processes.end(command, {});
    const std::vector<Fact> facts = {
        RequestQueued{kEnded, {7, 1}, {1000}, {}, {.vram = gib(8)}},
        LeaseGranted{kEnded, {{kGpu, gib(8)}}},
        LeaseClaimed{kEnded, command},
        CommandEnded{kEnded, {}},
        LeaseReleasing{kEnded, EndResult::kOk},
        RequestQueued{kHolds, {7, 2}, {1000}, {}, {.vram = gib(15)}},
        LeaseGranted{kHolds, {{kGpu, gib(15)}}},
        LeaseClaimed{kHolds, Process{77, 7}},
    };
    core::Coordinator coordinator{core::Settings{}};
    std::uint64_t sequence = 0;
    for (const Fact& fact : facts) {
      EXPECT_TRUE(coordinator.apply({++sequence, context.clock.instant(), {5}, fact}).ok());
    }
    checker.replaced(coordinator.snapshot(context.clock.now()), sequence, true);
  }
  static std::vector<Device> gpus() {
    return {{.id = kGpu,
             .model = "GPU",
             .capacity = gib(16),
             .figures = {},
             .lost = false,
             .uses = {}}};
  }
  void unmanaged_is(Unmanaged unmanaged) {
    core::Settings settings;
    settings.reserve = gib(1);
    settings.unmanaged = unmanaged;
    checker.configured(settings);
  }
  /// The last process on the list, which is the dead one, is not on it.
  Sample look_and_miss() const {
    Sample sample = devices.look();
    if (auto& listed = sample.devices[0].processes) listed->pop_back();
    return sample;
  }
  bool is_broken() {
    checker.out_of_memory(0);
    return context.failed();
  }

  SimContext context{1, false};
  Processes processes{context, 0};
  Devices devices{context, processes, gpus(), {}};
  Disk disk{context};
  InvariantChecker checker{context, devices, processes, disk};
};

TEST_F(LeftBehind, IsNotInTheReserveWhereTheDriverListsIt) {
  unmanaged_is(Unmanaged::kIgnore);
  checker.sampled(devices.look());
  EXPECT_TRUE(is_broken());
}

TEST_F(LeftBehind, IsInTheReserveWithTheIgnoredOnceTheListLackedIt) {
  unmanaged_is(Unmanaged::kIgnore);
  checker.sampled(look_and_miss());
  checker.sampled(devices.look());
  EXPECT_FALSE(is_broken());
}

TEST_F(LeftBehind, IsInTheTotalWhereUnmanagedProcessesCount) {
  unmanaged_is(Unmanaged::kAccount);
  checker.sampled(look_and_miss());
  EXPECT_TRUE(is_broken());
}

// What was asked for before its end tells nothing of what is left.
TEST_F(LeftBehind, IsNotFoundFreeByAnOlderSample) {
  unmanaged_is(Unmanaged::kIgnore);
  Sample sample = look_and_miss();
  sample.asked_at = Instant{sample.asked_at.ns - 1};
  checker.sampled(sample);
  EXPECT_TRUE(is_broken());
}

}  // namespace
}  // namespace berth::sim
