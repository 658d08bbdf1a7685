// SPDX-License-Identifier: Apache-2.0
#include "cli/run/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const DeviceId kFirst = *parse_device_id("GPU-5a1c0d2e-0000-4000-8000-000000000001");
const DeviceId kSecond = *parse_device_id("GPU-5a1cffff-0000-4000-8000-000000000002");

std::vector<DeviceView> two_devices() {
  return {{.id = kFirst, .index = 0}, {.id = kSecond, .index = 1}};
}

struct Case {
  const char* text;
  std::uint32_t count;
  std::vector<std::variant<std::uint32_t, DevicePrefix>> names;
};

TEST(DeviceChoice, NumberIsACountAndACommaMakesIndices) {
  const std::vector<Case> cases = {
      {"1", 1, {}},
      {"16", 16, {}},
      {"any", 1, {}},
      {"0,", 1, {0U}},
      {"0,1", 2, {0U, 1U}},
      {"3,0,", 2, {3U, 0U}},
      {"GPU-5a", 1, {"GPU-5a"}},
      {"0,GPU-5a", 2, {0U, "GPU-5a"}},
      {"MIG-5a,MIG-5b", 2, {"MIG-5a", "MIG-5b"}},
  };
  for (const Case& c : cases) {
    const Result<DeviceChoice> choice = parse_device_choice(c.text);
    ASSERT_TRUE(choice.ok()) << c.text;
    EXPECT_EQ(choice->count, c.count) << c.text;
    EXPECT_EQ(choice->names, c.names) << c.text;
  }
}

TEST(DeviceChoice, ZeroDevicesNameTheCure) {
  const Result<DeviceChoice> choice = parse_device_choice("0");
  ASSERT_FALSE(choice.ok());
  EXPECT_THAT(choice.error().message, HasSubstr("-g 0,"));
}

TEST(DeviceChoice, WhatNamesNoDeviceIsRefused) {
  for (const char* text : {"", ",", "-1", "-1,", "1.5", "0,,1", "0;1", "gpu0", "GPU-", "all",
                           "4294967296", "0x1", " 1", "0, 1"}) {
    EXPECT_FALSE(parse_device_choice(text).ok()) << text;
  }
}

TEST(DeviceChoice, BeginningOfAUuidIsEnoughIfItIsTheOnlyOne) {
  for (const char* text : {"GPU-5a1c0", "GPU-5A1C0D", "GPU-5a1c0d2e-0000-4000-8000-000000000001"}) {
    const DeviceChoice choice = *parse_device_choice(text);
    const Result<std::vector<DeviceName>> names = resolve(choice, two_devices());
    ASSERT_TRUE(names.ok()) << text;
    EXPECT_THAT(*names, ElementsAre(DeviceName(kFirst)));
  }
  const auto resolved = [](const char* text) {
    return resolve(*parse_device_choice(text), two_devices());
  };
  EXPECT_THAT(resolved("GPU-5a1c").error().message, HasSubstr("several"));
  EXPECT_EQ(resolved("GPU-77").error().code, Errc::kUnavailable);
  EXPECT_THAT(resolved("GPU-77").error().message, HasSubstr("1 = GPU-5a1cffff-"));
  EXPECT_THAT(resolved("1,1").error().message, HasSubstr("twice"));
}

TEST(DeviceChoice, OnlyABeginningNeedsTheList) {
  EXPECT_FALSE(needs_device_list(*parse_device_choice("2")));
  EXPECT_FALSE(needs_device_list(*parse_device_choice("0,1")));
  EXPECT_FALSE(needs_device_list(*parse_device_choice("GPU-5a1c0d2e-0000-4000-8000-000000000001")));
  EXPECT_TRUE(needs_device_list(*parse_device_choice("0,GPU-5a1c0")));
}

TEST(VisibleDevices, AreReadAsCudaReadsThem) {
  const std::vector<Case> cases = {
      {"0", 1, {0U}}, {"0,1", 2, {0U, 1U}}, {" 1 , 0 ", 2, {1U, 0U}}, {"1,-1,0", 1, {1U}},
      {"-1", 0, {}},  {"", 0, {}},          {"NoDevFiles", 0, {}},    {"GPU-5a", 1, {"GPU-5a"}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(choice_of_visible_devices(c.text).names, c.names) << c.text;
    EXPECT_EQ(choice_of_visible_devices(c.text).count, c.count) << c.text;
  }
}

TEST(VisibleDevices, NarrowALeaseAndNeverWidenIt) {
  const std::vector<LeasePart> parts = {{.device = kFirst, .index = 0},
                                        {.device = kSecond, .index = 1}};
  const auto kept = [&parts](const char* value) {
    return intersection(parts, choice_of_visible_devices(value));
  };
  EXPECT_THAT(kept("0,1,2"), ElementsAre(0, 1));
  EXPECT_THAT(kept("1,0"), ElementsAre(0, 1));
  EXPECT_THAT(kept("1"), ElementsAre(1));
  EXPECT_THAT(kept("GPU-5a1cf"), ElementsAre(1));
  EXPECT_THAT(kept("2"), IsEmpty());
  EXPECT_THAT(kept(""), IsEmpty());
}

TEST(CountHint, IsForALeaseThatGotAnotherGpuThanTheOneOfThatNumber) {
  const std::vector<LeasePart> first = {{.index = 0}};
  const std::vector<LeasePart> second = {{.index = 1}};
  EXPECT_EQ(count_hint("1", first, 2), "-g 1 is how many GPUs; GPU 1 itself is -g 1,");
  EXPECT_EQ(count_hint("1", second, 2), "");
  EXPECT_EQ(count_hint("1", first, 1), "");
  EXPECT_EQ(count_hint("2", first, 2), "");
  EXPECT_EQ(count_hint("0,", first, 2), "");
}

TEST(LargestBudget, IsWhatTheSmallestOfTheDevicesCouldGrantAlone) {
  std::vector<DeviceView> devices = two_devices();
  devices[0].capacity = gib(16);
  devices[0].reserve = mib(512);
  devices[0].figures.driver_reserved = mib(300);
  devices[0].charged = gib(9);  // That others have some of it now is another matter.
  devices[1].capacity = gib(24);
  devices[1].figures.driver_reserved = gib(1);
  const LeasePart first{.device = kFirst, .index = 0};
  const LeasePart second{.device = kSecond, .index = 1};
  EXPECT_EQ(largest_budget(std::vector{first}, devices), mib(15872));
  EXPECT_EQ(largest_budget(std::vector{second}, devices), gib(23));
  EXPECT_EQ(largest_budget(std::vector{second, first}, devices), mib(15872));
  devices[0].capacity.reset();
  EXPECT_EQ(largest_budget(std::vector{second, first}, devices), std::nullopt);
  EXPECT_EQ(largest_budget(std::vector{second}, {}), std::nullopt);
}

}  // namespace
}  // namespace berth::cli
