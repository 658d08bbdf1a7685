// SPDX-License-Identifier: Apache-2.0
// The real berth-probe on the simulated driver. Time is the tests' own: instants are handed in, and
// only the answers of the child are waited for.
#include "gpu/probe.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gpu/child_plan.h"
#include "gpu/world_for_test.h"

namespace berth::gpu {
namespace {

constexpr Instant kStart{1'000'000'000'000};

// Polls the child until an outcome is there.
Probe::Outcome outcome_of(Probe& probe, Instant now) {
  for (;;) {
    pollfd polled{.fd = probe.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, 30'000) <= 0) {
      ADD_FAILURE() << "the probe says nothing for 30 s";
      return {};
    }
    if (auto outcome = probe.on_readable(now)) return *std::move(outcome);
  }
}

Probe::Outcome ask(Probe& probe, Instant now) {
  probe.ask(now);
  return outcome_of(probe, now + milliseconds(1));
}

Probe::Options options() {
  const Result<os::ChildPlan> plan = child_plan("berth-probe", "1x16GiB");
  EXPECT_TRUE(plan.ok());
  return {.child = *plan};
}

TEST(Probe, TellsOfTwoDevicesAndARealProcess) {
  const TestWorld world("2x16GiB");
  Program user("vram_user", {"--bytes", "10GiB", "--hold", "forever", "--device", "1"});
  ASSERT_TRUE(user.reads("holding"));
  Probe probe(options());
  const Probe::Outcome outcome = ask(probe, kStart);
  ASSERT_TRUE(outcome.sample);
  const Sample& sample = *outcome.sample;
  EXPECT_EQ(sample.asked_at, kStart);
  EXPECT_EQ(sample.answered_at, kStart + milliseconds(1));
  EXPECT_TRUE(sample.simulated);
  ASSERT_EQ(sample.devices.size(), 2U);
  EXPECT_EQ(sample.devices[0].used, Bytes{});
  EXPECT_EQ(sample.devices[1].used, gib(10) + mib(300));
  ASSERT_EQ(sample.devices[1].processes->size(), 1U);
  EXPECT_EQ(sample.devices[1].processes->front().process.pid, user.pid());
  EXPECT_EQ(probe.wake_at(), Instant::never());
  EXPECT_FALSE(probe.busy());
}

TEST(Probe, OneChildAnswersManyQuestions) {
  const TestWorld world("1x16GiB");
  Probe probe(options());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(ask(probe, kStart).sample);
  EXPECT_EQ(probe.given_up(), 0U);
}

TEST(Probe, AHangingDriverIsGivenUpAndAnotherChildTriedLater) {
  const TestWorld world("1x16GiB");
  Probe probe(options());
  ASSERT_TRUE(ask(probe, kStart).sample);
  world.set({"nvml-hang", "1h"});
  probe.ask(kStart);
  EXPECT_EQ(probe.wake_at(), kStart + seconds(5));
  EXPECT_FALSE(probe.on_time(kStart + milliseconds(4'999)));
  const std::optional<Probe::Outcome> given_up = probe.on_time(kStart + seconds(5));
  ASSERT_TRUE(given_up);
  EXPECT_FALSE(given_up->sample);
  EXPECT_NE(given_up->trouble.find("has not answered for 5 s"), std::string::npos);
  EXPECT_EQ(probe.given_up(), 1U);
  EXPECT_EQ(probe.descriptor(), -1);

  world.set({"nvml-hang", "0"});
  probe.ask(kStart + milliseconds(5'500));  // Not before a second has passed since.
  EXPECT_EQ(probe.descriptor(), -1);
  EXPECT_EQ(probe.wake_at(), kStart + seconds(6));
  EXPECT_FALSE(probe.on_time(kStart + seconds(6)));
  EXPECT_TRUE(outcome_of(probe, kStart + seconds(6)).sample);
}

TEST(Probe, EachFailureDoublesTheTimeUntilTheNextChild) {
  const TestWorld world("1x16GiB");
  Probe::Options wrong = options();
  wrong.child.program = "/bin/false";
  Probe probe(wrong);
  Instant now = kStart;
  probe.ask(now);
  for (const int wait_seconds : {1, 2, 4, 8, 16, 32, 60, 60}) {
    const pid_t child = probe.child();
    EXPECT_EQ(outcome_of(probe, now).trouble, "berth-probe ended before it answered");
    // Its socket is closed before it is dead, and too many that do not die would be another story.
    siginfo_t dead;
    (void)::waitid(P_PID, static_cast<id_t>(child), &dead, WEXITED | WNOWAIT);
    probe.ask(now);
    EXPECT_EQ(probe.wake_at(), now + seconds(wait_seconds));
    now = probe.wake_at();
    EXPECT_FALSE(probe.on_time(now));
  }
}

TEST(Probe, AProgramThatCannotBeStartedIsAnOutcome) {
  Probe::Options wrong = options();
  wrong.child.program = "/nonexistent/berth-probe";
  Probe probe(wrong);
  probe.ask(kStart);
  EXPECT_TRUE(probe.busy());
  const std::optional<Probe::Outcome> outcome = probe.on_time(probe.wake_at());
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->sample);
  EXPECT_NE(outcome->trouble.find("/nonexistent/berth-probe"), std::string::npos);
  EXPECT_FALSE(probe.busy());
}

TEST(Probe, AChildThatIsKilledIsReplaced) {
  const TestWorld world("1x16GiB");
  Probe probe(options());
  ASSERT_TRUE(ask(probe, kStart).sample);
  world.set({"nvml-hang", "1h"});
  probe.ask(kStart);
  ::kill(probe.child(), SIGKILL);
  EXPECT_EQ(outcome_of(probe, kStart).trouble, "berth-probe ended before it answered");
  world.set({"nvml-hang", "0"});
  probe.ask(kStart + seconds(10));
  EXPECT_TRUE(outcome_of(probe, kStart + seconds(10)).sample);
}

TEST(Probe, WhatIsNoAnswerIsNotBelieved) {
  const TestWorld world("1x16GiB");
  Probe::Options wrong = options();
  const std::string script = world.directory() + "/liar";
  wrong.child.program = script;
  const std::pair<const char*, const char*> liars[] = {
      {"read x; echo '{\"number\":1}'", "no answer"},
      {"read x; echo nonsense", "no answer"},
      {"read x; echo '{\"number\":77,\"simulated\":true,\"driver\":\"\",\"trouble\":\"\","
       "\"processes\":[],\"devices\":[]}'; read y",
       "what was not asked"},
      {"read x; while :; do printf '%01000d' 0; done", "too much"},
      {"exit 3", "ended before it answered"}};
  for (const auto& [body, says] : liars) {
    std::ofstream(script) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    Probe probe(wrong);
    const Probe::Outcome outcome = ask(probe, kStart);
    EXPECT_FALSE(outcome.sample);
    EXPECT_NE(outcome.trouble.find(says), std::string::npos) << outcome.trouble;
  }
}

TEST(Probe, ADeviceThatIsLostToANewChildIsKnownFromBefore) {
  const TestWorld world("2x16GiB");
  Probe probe(options());
  const Sample before = *ask(probe, kStart).sample;
  probe.rest();
  EXPECT_EQ(probe.descriptor(), -1);
  world.set({"lose", "0"});
  const Sample after = *ask(probe, kStart).sample;
  ASSERT_EQ(after.devices.size(), 2U);
  EXPECT_TRUE(after.devices[0].lost);
  EXPECT_EQ(after.devices[0].id, before.devices[0].id);
  EXPECT_EQ(after.devices[0].pci_bus, before.devices[0].pci_bus);
  EXPECT_FALSE(after.devices[1].lost);
}

TEST(Probe, ANewChildWakesNoDeviceThatIsKnownFromBefore) {
  const TestWorld world("1x16GiB");
  const std::string sysfs = world.directory() + "/sys";
  const std::string power = sysfs + "/bus/pci/devices/0000:01:00.0/power";
  std::filesystem::create_directories(power);
  std::ofstream(power + "/runtime_status") << "suspended\n";
  ::setenv("BERTH_SIM_SYSFS", sysfs.c_str(), 1);
  Probe probe(options());
  const Sample first = *ask(probe, kStart).sample;
  EXPECT_FALSE(first.devices[0].asleep);
  probe.rest();
  world.set({"nvml-hang", "1h"});  // Each question to the driver waits for it.
  const Sample second = *ask(probe, kStart + minutes(10)).sample;
  ::unsetenv("BERTH_SIM_SYSFS");
  ASSERT_EQ(second.devices.size(), 1U);
  EXPECT_TRUE(second.devices[0].asleep);
  EXPECT_EQ(second.devices[0].id, first.devices[0].id);
  EXPECT_EQ(second.devices[0].used, std::nullopt);
}

TEST(Probe, ADeviceThatNeverSaidItsNameIsLeftOut) {
  const TestWorld world("2x16GiB");
  world.set({"lose", "0"});
  Probe probe(options());
  const Sample one = *ask(probe, kStart).sample;
  ASSERT_EQ(one.devices.size(), 1U);
  EXPECT_EQ(one.devices[0].index, 1U);
  EXPECT_EQ(one.trouble, "");
  world.set({"lose", "1"});
  Probe another(options());
  const Sample none = *ask(another, kStart).sample;
  EXPECT_TRUE(none.devices.empty());
  EXPECT_NE(none.trouble.find("GPU 1"), std::string::npos);
}

TEST(Probe, WithoutADriverThereIsAnAnswerThatSaysSo) {
  ::unsetenv("BERTH_SIM");
  Probe::Options real = options();
  real.child.library_path = "/nonexistent";
  Probe probe(real);
  const Probe::Outcome outcome = ask(probe, kStart);
  ASSERT_TRUE(outcome.sample);
  if (outcome.sample->trouble.empty()) {
    std::cout << "SKIPPED: this machine has a real driver\n";
    GTEST_SKIP();
  }
  EXPECT_NE(outcome.sample->trouble.find("is not installed"), std::string::npos);
}

TEST(Probe, ItRestsAndTheNextQuestionStartsAnotherChild) {
  const TestWorld world("1x16GiB");
  Probe probe(options());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(ask(probe, kStart).sample);
    probe.rest();
  }
  ASSERT_TRUE(ask(probe, kStart).sample);
  EXPECT_EQ(probe.given_up(), 0U);
}

}  // namespace
}  // namespace berth::gpu
