// SPDX-License-Identifier: Apache-2.0
#include "cli/render/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/render/leases.h"
#include "cli/render/phrases.h"
#include "cli/render/sample_test.h"

namespace berth::cli {
namespace {

using sample::context;
using testing::HasSubstr;
using testing::Not;

StatusFacts facts() {
  return {.devices = {sample::device()},
          .leases = {sample::held(), sample::idle()},
          .queue = {{sample::waiting(), sample::why()}}};
}

TEST(Status, ShowsDevicesLeasesAndQueue) {
  RenderContext wide = context();
  wide.width = std::nullopt;
  EXPECT_EQ(
      status_text(facts(), wide),
      "GPU 0  RTX 5080  ▕██████████▒▒▒░▏  11.9 / 15.9 GiB  granted 14.0 GiB  grantable 1.4 GiB  "
      "healthy\n"
      "  ID  SESSION            STATE  GPU  GiB used/peak/granted    AGE     LEFT  COMMAND\n"
      "  12  me/hybrid-train    held   0      9.8 / 10.2 / 11.0    1h02m  ~14 min  "
      "python train.py --epochs 90 --model gpt2-small-hybrid\n"
      "  13  guest/self-hosted  held   0        – /    – /  3.0      12m        –  ollama serve\n"
      "   –  guest (unmanaged)  –      0      0.4 /    – /    –        –        –  firefox\n"
      "Queue (1)\n"
      "  14  me/sweep  6.0 GiB on any GPU  4m12s  waits for memory; 12 ends in ~14 min  "
      "[berth why 14]\n");
}

TEST(Status, NothingIsWiderThanTheTerminal) {
  for (std::size_t width = 60; width < 160; ++width) {
    RenderContext narrow = context();
    narrow.width = width;
    std::istringstream lines(status_text(facts(), narrow));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), width) << line;
  }
}

TEST(Status, AnEmptyMachineSaysHowToBegin) {
  EXPECT_THAT(status_text({.devices = {}}, context()), HasSubstr("berth run -m 8G -- COMMAND"));
  EXPECT_THAT(status_text({.trouble = "no driver: libnvidia-ml.so.1 is missing"}, context()),
              HasSubstr("no driver: libnvidia-ml.so.1 is missing"));
}

TEST(Status, ALongQueueIsCutAndSaysSo) {
  StatusFacts many = facts();
  for (int i = 0; i < 20; ++i) many.queue.push_back({sample::waiting(), std::nullopt});
  EXPECT_THAT(status_text(many, context()), HasSubstr("and 16 more  [berth queue]"));
}

TEST(Status, WhatIsWrongWithADeviceIsAWord) {
  const auto health = [](void (*change)(DeviceView&)) {
    DeviceView device = sample::device();
    change(device);
    return device_lines(std::vector{device}, context());
  };
  EXPECT_THAT(health([](DeviceView& d) { d.lost = true; }), HasSubstr("  lost"));
  EXPECT_THAT(health([](DeviceView& d) { d.asleep = true; }), HasSubstr("  asleep"));
  EXPECT_THAT(health([](DeviceView& d) { d.overcommitted = true; }), HasSubstr("  overcommitted"));
  EXPECT_THAT(health([](DeviceView& d) { d.trouble = "Xid 79"; }), HasSubstr("GPU 0: Xid 79"));
  EXPECT_THAT(health([](DeviceView& d) { d.sample_age = seconds(90); }),
              HasSubstr("figures 1m30s old"));
}

TEST(Status, UnknownFiguresAreADashNeverZero) {
  DeviceView device = sample::device();
  device.used = std::nullopt;
  EXPECT_THAT(device_lines(std::vector{device}, context()), HasSubstr("– / 15.9 GiB"));
  device.capacity = std::nullopt;
  EXPECT_THAT(device_lines(std::vector{device}, context()), HasSubstr("– / –"));
}

TEST(Status, HowBusyADeviceIsStandsWhereItIsKnownAndThereIsRoom) {
  std::vector<DeviceView> devices = {sample::device(), sample::device()};
  EXPECT_THAT(device_lines(devices, context()), Not(HasSubstr("busy")));
  devices[1].figures.gpu_utilization = 7;
  EXPECT_THAT(device_lines(devices, context()),
              HasSubstr("15.9 GiB            granted 14.0 GiB  grantable 1.4 GiB  healthy\n"));
  EXPECT_THAT(device_lines(devices, context()), HasSubstr("GiB  7 % busy  granted"));
  devices[1].figures.temperature = 61;
  devices[1].figures.power_milliwatts = 238'900;
  EXPECT_THAT(device_lines(devices, context()), HasSubstr("GiB  7 % busy  61 °C, 238 W  granted"));
  RenderContext narrow = context();
  narrow.width = 110;
  EXPECT_THAT(device_lines(devices, narrow), Not(HasSubstr("238 W")));
  EXPECT_THAT(device_lines(devices, narrow), HasSubstr("busy"));
  narrow.width = 80;
  EXPECT_THAT(device_lines(devices, narrow), Not(HasSubstr("busy")));
}

TEST(Status, EachColourStandsBesideAWord) {
  RenderContext coloured = context();
  coloured.charset.colour = true;
  std::string text = status_text(facts(), coloured);
  EXPECT_THAT(text, HasSubstr("\033[32mheld\033[0m"));
  for (auto at = text.find("\033["); at != std::string::npos; at = text.find("\033[")) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  EXPECT_EQ(text, status_text(facts(), context()));
}

TEST(Status, SimulatedDevicesAreCalledSo) {
  RenderContext simulated = context();
  EXPECT_THAT(device_lines(std::vector{sample::device()}, simulated), Not(HasSubstr("simulated")));
  simulated.simulated = true;
  EXPECT_THAT(device_lines(std::vector{sample::device()}, simulated), HasSubstr("simulated"));
}

TEST(Show, TellsAllThatIsKnown) {
  EXPECT_EQ(lease_details(sample::held(), context()),
            "Lease 12  me/hybrid-train\n"
            "  state         held\n"
            "  asked         11.0 GiB on any GPU\n"
            "  GPU 0         granted 11.0 GiB, used 9.8 GiB, peak 10.2 GiB, "
            "GPU-5a1c0d2e-0000-4000-8000-000000000001\n"
            "  priority      normal\n"
            "  command       python train.py --epochs 90 --model gpt2-small-hybrid\n"
            "  pid           4711\n"
            "  supervisor    4710\n"
            "  queued        2026-02-07T12:12:00.123Z (1h03m ago)\n"
            "  started       2026-02-07T12:13:00.123Z (1h02m ago)\n"
            "  progress      812 of 1000 (81 %), epoch 8, told 2 s ago\n"
            "  expected end  2026-02-07T13:29:00.123Z (in ~14 min)\n"
            "  eta           2h\n"
            "  handle        " +
                to_text(sample::held().handle) + "\n");
}

TEST(Show, TellsSinceWhenALeaseIsIdleInListsToo) {
  LeaseView lease = sample::held();
  EXPECT_THAT(lease_details(lease, context()), Not(HasSubstr("idle")));
  lease.idle_since = sample::ago(minutes(31));
  EXPECT_THAT(lease_details(lease, context()),
              HasSubstr("  idle since    2026-02-07T12:44:00.123Z (31m ago)\n"));
  EXPECT_THAT(status_text({.leases = {lease}}, context()), HasSubstr("  held, idle 31m  "));
}

TEST(Show, TellsTheOptionsThatWereSaid) {
  LeaseView lease = sample::held();
  lease.request.may_yield = true;
  lease.request.leftovers = Leftovers::kKill;
  lease.request.tier = "fast";
  lease.request.retry_max = 3;
  EXPECT_THAT(lease_details(lease, context()),
              HasSubstr("  options       --leftovers=kill --yield --tier=fast --retry=3\n"));
}

TEST(Show, WhatDoesNotRunSaysWhyByWhomAndUntilWhen) {
  LeaseView lease = sample::yielding();
  EXPECT_THAT(lease_details(lease, context()),
              HasSubstr("  halted        is suspended for lease 9 (guest/urgent, priority urgent) "
                        "since 12 s; it comes back when 9 ends\n"));
  lease.halt->idle = minutes(31);
  EXPECT_THAT(lease_details(lease, context()),
              HasSubstr("since 12 s, after it was idle for 31m; it comes back when 9 ends\n"));
  lease.halt = Halt{.reason = Halt::Reason::kMoves, .since = sample::ago(seconds(12))};
  lease.moved_by = sample::kGuest;
  EXPECT_THAT(lease_details(lease, context()),
              HasSubstr("  halted        is being moved to GPU 0 by guest since 12 s; "));
  lease.pause = Pause{.since = sample::ago(seconds(12)), .reason = "lunch", .by = sample::kGuest};
  lease.halt = Halt{.reason = Halt::Reason::kPaused, .since = sample::ago(seconds(12))};
  const std::string text = lease_details(lease, context());
  EXPECT_THAT(text, HasSubstr("  halted        is paused by guest since 12 s: lunch; "));
  EXPECT_THAT(text, Not(HasSubstr("\n  paused ")));
}

TEST(Show, NamesProcessesOnGpusThatTheLeaseWasNotGiven) {
  LeaseView lease = sample::held();
  lease.flags.astray = true;
  lease.strays = {{.process = {4712, 1},
                   .name = "python\n",
                   .device = sample::kDevice,
                   .index = 1,
                   .used = gib(2)},
                  {.process = {4713, 1}, .name = "", .device = sample::kDevice}};
  const std::string text = lease_details(lease, context());
  EXPECT_THAT(text, HasSubstr("held,astray"));
  EXPECT_THAT(text, HasSubstr("(pid 4712) uses 2.0 GiB of GPU 1, which the lease was not given\n"));
  EXPECT_THAT(text, Not(HasSubstr("python\n")));
  EXPECT_THAT(text, HasSubstr("a process (pid 4713) uses memory of GPU-5a1c0d2e"));
}

TEST(Ps, AStrayStandsBelowWithItsLease) {
  DeviceView device = sample::device();
  device.unmanaged_processes[0].lease = LeaseId{12};
  const Table table = lease_table({}, std::vector{device}, Detail::kTable, context());
  EXPECT_EQ(table.rows[0][1].text, "guest (lease 12, astray)");
}

TEST(Ps, AnEndedLeaseShowsItsResult) {
  const Table table = lease_table(std::vector{sample::ended()}, {}, Detail::kTable, context());
  EXPECT_EQ(table.rows[0][2].text, "ended: failed with exit status 3");
}

TEST(Ps, TheResultSaysHowACommandEndedWhereThatExplainsIt) {
  const auto result = [](EndResult end, ExitStatus exit) {
    LeaseView lease = sample::ended();
    lease.result = end;
    lease.exit = exit;
    return result_of(lease);
  };
  EXPECT_EQ(result(EndResult::kKilled, {.signal = 9}), "killed by signal 9");
  EXPECT_EQ(result(EndResult::kFailed, {.code = 3}), "failed with exit status 3");
  EXPECT_EQ(result(EndResult::kCancelled, {.signal = 15}), "cancelled");
  EXPECT_EQ(result(EndResult::kOk, {.signal = 15}), "ok");  // Released, and ended afterwards.
}

TEST(Ps, ALeaseThatIsGoingHasNoResultYet) {
  LeaseView lease = sample::ended();
  lease.state = LeaseState::kReleasing;
  EXPECT_EQ(state_of(lease), "releasing");
}

TEST(Ps, ADeviceWithoutAnIndexIsCalledByItsUuid) {
  LeaseView lease = sample::held();
  lease.parts[0].index = std::nullopt;
  EXPECT_EQ(device_list(lease.parts, context()), "GPU-5a1c0d2e…");
}

TEST(Ps, NamesFromOthersCannotControlTheTerminal) {
  LeaseView lease = sample::held();
  lease.request.name = "x\033]0;owned\007";
  lease.request.command = "printf '\033[2J'";
  const std::string text = render(lease_table(std::vector{lease}, {}, Detail::kWide, context()),
                                  std::nullopt, context().charset);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_EQ(text.find('\007'), std::string::npos);
}

TEST(Ps, WhatIsPastItsExpectedEndSaysByHowMuch) {
  LeaseView lease = sample::held();
  lease.expected_end = sample::ago(minutes(3));
  const Table table = lease_table(std::vector{lease}, {}, Detail::kTable, context());
  EXPECT_EQ(table.rows[0][6].text, "over 3m");
}

}  // namespace
}  // namespace berth::cli
