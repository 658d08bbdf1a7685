// SPDX-License-Identifier: Apache-2.0
#include "alerts/alarms.h"

#include <gtest/gtest.h>

namespace berth::alerts {
namespace {

constexpr DeviceId kDevice{1, 2, false};

Rule rule(std::string_view when, Duration repeat = {}) {
  return {.name = "r", .when = *parse_expression(when), .repeat = repeat};
}

/// A clock that goes on by seconds, one device of 16 GiB and the leases it is given.
class Watch {
 public:
  explicit Watch(std::vector<Rule> rules) { alarms.configure(std::move(rules)); }

  /// "firing TEXT" or "cleared TEXT" of each alert, a line each.
  std::string after(std::int64_t more, std::optional<Bytes> used) {
    now_ += more;
    DeviceView device{.id = kDevice, .model = "Simulated", .capacity = gib(16), .used = used};
    Facts facts{.devices = {device}, .leases = leases};
    return told(alarms.step(at(), facts));
  }
  std::string told(const std::vector<Alert>& alerts) {
    std::string text;
    for (const Alert& alert : alerts) {
      last = alert;
      text += std::string(to_text(alert.state)) + " " + alert.text + "\n";
    }
    return text;
  }
  Moment at() const { return {Instant{} + seconds(now_), {now_ * 1'000}}; }

  Alarms alarms;
  std::vector<LeaseView> leases;
  Alert last;

 private:
  std::int64_t now_ = 1'000;
};

LeaseView lease(std::uint64_t id, std::string name = {}) {
  LeaseView view{.id = {id}, .state = LeaseState::kHeld};
  view.request.name = std::move(name);
  return view;
}

TEST(Alarms, RuleFiresWhenItHasBeenSoForAsLongAsItSays) {
  Watch watch({rule("gpu.mem_used > 88% for 30s")});
  EXPECT_EQ(watch.after(1, gib(15)), "");
  EXPECT_EQ(watch.after(29, gib(15)), "");
  EXPECT_EQ(watch.after(1, gib(15)), "firing GPU 0 (Simulated) uses 15.0 GiB of 16.0 GiB (94 %)\n");
  EXPECT_EQ(watch.last.value, 938);
  EXPECT_EQ(watch.last.unit, Alert::Unit::kShare);
  EXPECT_EQ(watch.last.subject.device, kDevice);
  EXPECT_EQ(watch.last.since.value, 1'001'000);
  EXPECT_EQ(watch.after(60, gib(15)), "");  // Once.
}

TEST(Alarms, WhatWasSoForTooShortATimeIsNeverTold) {
  Watch watch({rule("gpu.mem_used > 88% for 30s")});
  EXPECT_EQ(watch.after(1, gib(15)), "");
  EXPECT_EQ(watch.after(20, gib(1)), "");
  EXPECT_EQ(watch.after(1, gib(15)), "");
  EXPECT_EQ(watch.after(29, gib(15)), "");
}

TEST(Alarms, WhatSwingsAboutTheThresholdIsToldOnce) {
  Watch watch({rule("gpu.mem_used > 8GiB clear 4GiB")});
  EXPECT_NE(watch.after(1, gib(9)), "");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(watch.after(8, gib(5)), "");
    EXPECT_EQ(watch.after(8, gib(9)), "");
    EXPECT_EQ(watch.after(8, gib(4)), "");  // Not for long.
  }
  EXPECT_EQ(watch.after(1, gib(5)), "");
  EXPECT_EQ(watch.after(1, gib(4)), "");
  EXPECT_EQ(watch.after(10, gib(4)),
            "cleared over after 4m12s: GPU 0 (Simulated) uses 4.0 GiB of 16.0 GiB (25 %)\n");
  EXPECT_NE(watch.after(1, gib(9)), "");  // Anew.
}

TEST(Alarms, WithoutAClearItIsOverWhenItHasNotBeenSoForTenSeconds) {
  Watch watch({rule("gpu.mem_used > 8GiB")});
  EXPECT_NE(watch.after(1, gib(9)), "");
  EXPECT_EQ(watch.after(1, gib(8)), "");
  EXPECT_EQ(watch.after(9, gib(8)), "");
  EXPECT_NE(watch.after(1, gib(8)), "");
}

TEST(Alarms, WhatGoesOnIsToldAgainEachSoOften) {
  Watch watch({rule("gpu.mem_used > 8GiB", minutes(10))});
  EXPECT_NE(watch.after(1, gib(9)), "");
  EXPECT_EQ(watch.after(599, gib(9)), "");
  EXPECT_NE(watch.after(1, gib(9)), "");
  EXPECT_EQ(watch.after(599, gib(9)), "");
  EXPECT_NE(watch.after(1, gib(9)), "");
}

TEST(Alarms, WhatIsUnknownNeitherBeginsNorEnds) {
  Watch watch({rule("gpu.mem_used > 8GiB")});
  EXPECT_EQ(watch.after(1, std::nullopt), "");
  EXPECT_NE(watch.after(1, gib(9)), "");
  EXPECT_EQ(watch.after(100, std::nullopt), "");
  ASSERT_EQ(watch.alarms.states().size(), 1);
  EXPECT_TRUE(watch.alarms.states()[0].firing);
}

TEST(Alarms, ADeviceIsToldOfThatIsHotOrHeldDown) {
  DeviceView device{.id = kDevice, .model = "Simulated"};
  const auto found = [&](std::string_view when) {
    Watch watch({rule(when)});
    const std::string text =
        watch.told(watch.alarms.step(watch.at(), Facts{.devices = {device}, .leases = {}}));
    return text.empty() ? text
                        : text + std::to_string(watch.last.value.value_or(0)) + " " +
                              std::string(to_text(watch.last.unit));
  };
  for (const char* when : {"gpu.temperature < 200C", "gpu.power < 900W", "gpu.utilization < 100%",
                           "gpu.throttled", "gpu.ecc_errors"}) {
    EXPECT_EQ(found(when), "") << when;  // Not known.
  }
  device.figures = {.gpu_utilization = 3,
                    .temperature = 86,
                    .power_milliwatts = 271'900,
                    .power_limit_milliwatts = 300'000,
                    .ecc_uncorrected = 0,
                    .throttle = Throttle::kNone};
  EXPECT_EQ(found("gpu.temperature > 85C"), "firing GPU 0 (Simulated) is at 86 °C\n86 celsius");
  EXPECT_EQ(found("gpu.temperature > 86C"), "");
  EXPECT_EQ(found("gpu.power > 270W"), "firing GPU 0 (Simulated) draws 271 W of 300 W\n271 watts");
  EXPECT_EQ(found("gpu.power >= 90%"), "firing GPU 0 (Simulated) draws 271 W of 300 W\n900 share");
  EXPECT_EQ(found("gpu.power >= 91%"), "");
  EXPECT_EQ(found("gpu.utilization <= 3%"),
            "firing GPU 0 (Simulated) is busy 3 % of the time\n30 share");
  EXPECT_EQ(found("gpu.throttled"), "");
  EXPECT_EQ(found("gpu.ecc_errors"), "");
  device.figures.throttle = Throttle::kThermal;
  device.figures.ecc_uncorrected = 2;
  EXPECT_EQ(found("gpu.throttled"), "firing GPU 0 (Simulated) is held down by its heat\n0 ");
  EXPECT_NE(found("gpu.ecc_errors"), "");
  device.figures.power_limit_milliwatts.reset();
  EXPECT_EQ(found("gpu.power >= 90%"), "");  // Of what is not known.
}

TEST(Alarms, ALeaseThatComputesLittleIsToldOf) {
  Watch watch({rule("lease.utilization < 5%")});
  watch.leases = {lease(1, "train")};
  watch.leases[0].parts = {{.granted = gib(1), .gpu_utilization = 4}, {.granted = gib(1)}};
  EXPECT_EQ(watch.after(1, gib(1)), "");  // Of one of its GPUs it is not known.
  watch.leases[0].parts[1].gpu_utilization = 9;
  EXPECT_EQ(watch.after(1, gib(1)), "");
  watch.leases[0].parts[1].gpu_utilization = 2;
  EXPECT_EQ(watch.after(1, gib(1)), "firing lease 1 (train) computes 4 % of the time\n");
}

TEST(Alarms, AShareOfALeaseIsThatOfItsFullestDevice) {
  Watch watch({rule("lease.mem_used >= 75%")});
  LeaseView view = lease(12, "train");
  view.parts = {{.device = {1, 1}, .granted = gib(8), .used = gib(1)},
                {.device = {1, 2}, .granted = gib(8), .used = gib(6)}};
  watch.leases = {view};
  EXPECT_EQ(watch.after(1, gib(1)), "firing lease 12 (train) uses 7.0 GiB of 16.0 GiB\n");
  ASSERT_EQ(watch.last.actions.size(), 2);
  EXPECT_EQ(watch.last.actions[0].label, "Pause train");
  EXPECT_EQ(watch.last.actions[1].label, "Show train");
}

TEST(Alarms, AWaitIsOverWithTheGrantAndWithTheEnd) {
  Watch watch({rule("lease.waiting > 10m")});
  LeaseView waiting = lease(3);
  waiting.state = LeaseState::kWaiting;
  waiting.waited = minutes(11);
  LeaseView other = waiting;
  other.id = {4};
  watch.leases = {waiting, other};
  EXPECT_EQ(watch.after(1, gib(1)),
            "firing lease 3 has waited for 11m\nfiring lease 4 has waited for 11m\n");
  waiting.state = LeaseState::kHeld;
  watch.leases = {waiting};
  EXPECT_EQ(watch.after(1, gib(1)), "cleared over after 1 s: lease 4 has ended\n");
  EXPECT_EQ(watch.after(10, gib(1)), "cleared over after 11 s: lease 3 waits no more\n");
}

TEST(Alarms, AStoppedLeaseIsToldOfUntilItRunsAgain) {
  Watch watch({rule("lease.frozen for 1m")});
  watch.leases = {lease(7, "train")};
  watch.leases[0].parts = {{.device = kDevice, .granted = gib(4), .used = gib(3)}};
  watch.leases[0].flags.frozen = true;
  EXPECT_EQ(watch.after(1, gib(3)), "");
  EXPECT_EQ(watch.after(60, gib(3)),
            "firing lease 7 (train) uses 3.0 GiB of 4.0 GiB, and is stopped\n");
  watch.leases[0].flags.frozen = false;
  EXPECT_EQ(watch.after(1, gib(3)), "");
  EXPECT_EQ(watch.after(10, gib(3)), "cleared over after 1m11s: lease 7 (train) runs again\n");
}

TEST(Alarms, AnEventIsToldOnceAndOnlyWhereTheRuleIsAboutIt) {
  Watch watch({rule("lease.ended result=failed name=train*")});
  LeaseView ended = lease(7, "train-2");
  ended.state = LeaseState::kEnded;
  ended.result = EndResult::kFailed;
  const auto told = [&](Source event) {
    return watch.told(watch.alarms.on_lease_event(watch.at(), event, ended));
  };
  EXPECT_EQ(told(Source::kLeaseEnded), "firing lease 7 (train-2) has ended: failed\n");
  EXPECT_EQ(told(Source::kLeaseGranted), "");
  ended.result = EndResult::kOk;
  EXPECT_EQ(told(Source::kLeaseEnded), "");
  ended.result = EndResult::kFailed;
  ended.request.name = "other";
  EXPECT_EQ(told(Source::kLeaseEnded), "");
}

TEST(Alarms, OfADeviceTheLeaseThatUsesMostCanBePaused) {
  Watch watch({rule("gpu.mem_used > 8GiB")});
  LeaseView small = lease(1, "small");
  small.parts = {{.device = kDevice, .granted = gib(4), .used = gib(1)}};
  LeaseView large = lease(2, "large");
  large.parts = {{.device = kDevice, .granted = gib(9), .used = gib(8)}};
  watch.leases = {small, large};
  EXPECT_NE(watch.after(1, gib(9)), "");
  ASSERT_FALSE(watch.last.actions.empty());
  EXPECT_EQ(watch.last.actions[0].lease, LeaseId{2});
}

TEST(Alarms, WhatIsRestoredIsToldWhenItIsDueAndNotBefore) {
  Watch before({rule("gpu.mem_used > 8GiB", seconds(60))});
  EXPECT_EQ(before.alarms.take_firing(before.at()), std::nullopt);
  EXPECT_NE(before.after(1, gib(9)), "");
  const auto kept = before.alarms.take_firing(before.at());
  ASSERT_TRUE(kept && kept->size() == 1);
  EXPECT_EQ(before.alarms.take_firing(before.at()), std::nullopt) << "nothing has changed";

  Watch watch({rule("gpu.mem_used > 8GiB", seconds(60))});
  EXPECT_EQ(watch.after(40, std::nullopt), "");
  watch.alarms.restore(*kept, watch.at());
  EXPECT_EQ(watch.after(1, gib(9)), "");
  EXPECT_EQ(watch.after(19, gib(9)), "");
  EXPECT_NE(watch.after(1, gib(9)), "") << "a minute after the last time";
  EXPECT_EQ(watch.last.since.value, 1'001'000);
}

TEST(Alarms, WhatIsRestoredOfALeaseThatHasEndedIsOver) {
  Watch watch({rule("lease.mem_used > 88%")});
  watch.alarms.restore({{.rule = "r",
                         .when = to_text(rule("lease.mem_used > 88%").when),
                         .lease = {7},
                         .name = "train"}},
                       watch.at());
  EXPECT_EQ(watch.after(1, gib(1)), "cleared over after 16m41s: lease 7 (train) has ended\n");
  EXPECT_TRUE(watch.alarms.take_firing(watch.at()).value().empty());
}

TEST(Alarms, BeforeTheDriverTellsAnythingOnlyWhatIsSaidOfDevicesStands) {
  const auto fire = [](std::string_view when, DeviceId device, LeaseId lease) {
    return FiringAlert{
        .rule = "r", .when = to_text(rule(when).when), .device = device, .lease = lease};
  };
  Watch leases({rule("lease.mem_used > 88%")});
  leases.alarms.restore({fire("lease.mem_used > 88%", {}, {7})}, leases.at());
  EXPECT_EQ(leases.told(leases.alarms.step(leases.at(), {})),
            "cleared over after 16m40s: lease 7 has ended\n");
  Watch devices({rule("gpu.mem_used > 8GiB")});
  devices.alarms.restore({fire("gpu.mem_used > 8GiB", kDevice, {})}, devices.at());
  EXPECT_EQ(devices.told(devices.alarms.step(devices.at(), {})), "");
  EXPECT_EQ(devices.alarms.states().size(), 1);
}

TEST(Alarms, WhatIsRestoredOfARuleThatReadsDifferentlyIsForgotten) {
  Watch watch({rule("gpu.mem_used > 4GiB")});
  watch.alarms.restore({{.rule = "r", .when = "gpu.mem_used > 8GiB", .device = kDevice},
                        {.rule = "gone", .when = "gpu.lost", .device = kDevice}},
                       watch.at());
  EXPECT_TRUE(watch.alarms.states().empty());
  EXPECT_TRUE(watch.alarms.take_firing(watch.at()).value().empty()) << "nor kept any longer";
}

TEST(Alarms, ARuleThatReadsDifferentlyBeginsAnew) {
  Watch watch({rule("gpu.mem_used > 8GiB")});
  EXPECT_NE(watch.after(1, gib(9)), "");
  watch.alarms.configure({rule("gpu.mem_used > 8GiB", hours(1))});
  EXPECT_EQ(watch.alarms.states().size(), 1);
  watch.alarms.configure({rule("gpu.mem_used > 4GiB")});
  EXPECT_TRUE(watch.alarms.states().empty());
}

}  // namespace
}  // namespace berth::alerts
