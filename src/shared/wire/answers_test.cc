// SPDX-License-Identifier: Apache-2.0
#include "wire/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/sample_for_test.h"
#include "wire/daemon.h"
#include "wire/samples_for_test.h"

namespace berth::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr bool kSeesAll = true;

Viewer anna(const UserNames& names) {
  return {.user = samples::kAnna, .sees_all_commands = kSeesAll, .names = names};
}

TEST(Answers, StatusReadsBackAsItWasWritten) {
  const std::string text = encode_status(samples::status(), anna(samples::names()));
  const Result<NamedStatus> named = decode_status(text);
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named->names, samples::names());
  EXPECT_EQ(encode_status(named->status, anna(named->names)), text);
}

TEST(Answers, WithAllTheirFieldsReadBackAsTheyWereWritten) {
  const std::string status = encode_status(full_sample<StatusAnswer>(), anna({}));
  EXPECT_EQ(encode_status(decode_status(status)->status, anna({})), status);
  const std::string why = encode_why(full_sample<WhyView>(), {});
  EXPECT_EQ(encode_why(decode_why(why)->why, {}), why);
  const std::string fit = encode_fit(full_sample<FitView>(), {});
  EXPECT_EQ(encode_fit(*decode_fit(fit), {}), fit);
}

TEST(Answers, DevicesReadBackAsTheyWereWritten) {
  const DeviceList list = {.time = {5}, .simulated = true, .items = {samples::device_view()}};
  const std::string text = encode_devices(list, samples::names());
  const Result<NamedDevices> named = decode_devices(text);
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(encode_devices(named->list, named->names), text);
  EXPECT_EQ(named->list.items[0].pci_bus, samples::device_view().pci_bus);
}

TEST(Answers, ProcessOfAnotherNamespaceMayHaveNoPid) {
  DeviceView device = samples::device_view();
  device.unmanaged_processes[0].process.pid = 0;
  const Result<NamedDevices> named = decode_devices(encode_devices({.items = {device}}, {}));
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named->list.items[0].unmanaged_processes[0].process.pid, 0);
}

TEST(Answers, UnknownFigureOfADeviceIsNull) {
  DeviceView lost = samples::device_view();
  lost.capacity.reset();
  lost.used.reset();
  lost.unmanaged.reset();
  lost.figures.driver_reserved.reset();
  lost.sample_age.reset();
  lost.unmanaged_processes[0].used.reset();
  const std::string text = encode_devices({.items = {lost}}, samples::names());
  EXPECT_THAT(text, HasSubstr(R"("vram_total_bytes":null,"vram_used_bytes":null,)"
                              R"("vram_unmanaged_bytes":null,"vram_ignored_bytes":104857600,)"
                              R"("vram_driver_bytes":null,)"));
  EXPECT_THAT(text, HasSubstr(R"("sample_age_ms":null)"));
  const Result<NamedDevices> named = decode_devices(text);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->list.items[0].capacity, std::nullopt);
  EXPECT_EQ(named->list.items[0].unmanaged_processes[0].used, std::nullopt);
}

TEST(Answers, OfAnEarlierDaemonAreReadWithTheWordsOfThen) {
  const DeviceList list = {.time = {5}, .simulated = true, .items = {samples::device_view()}};
  std::string text = encode_devices(list, samples::names());
  const auto in_words_of_then = [&](std::string_view now, std::string_view then) {
    const std::size_t at = text.find(now);
    ASSERT_NE(at, std::string::npos) << now;
    text.replace(at, now.size(), then);
  };
  in_words_of_then("\"vram_unmanaged_bytes\"", "\"vram_external_bytes\"");
  in_words_of_then("\"unmanaged_processes\"", "\"strangers\"");
  const Result<NamedDevices> named = decode_devices(text);
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named->list.items[0].unmanaged, samples::device_view().unmanaged);
  EXPECT_EQ(named->list.items[0].unmanaged_processes.size(),
            samples::device_view().unmanaged_processes.size());
}

TEST(Answers, WhyReadsBackAsItWasWritten) {
  const std::string text = encode_why(samples::why(), samples::names());
  const Result<NamedWhy> named = decode_why(text);
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(encode_why(named->why, named->names), text);
  EXPECT_THAT(text, HasSubstr(R"({"kind":"shrink_lease","id":12,"vram_bytes":10737418240,)"
                              R"("uuid":null,"also":[]})"));
  EXPECT_THAT(text, HasSubstr(R"("devices_wanted":2,"devices_fitting":1,)"));
  EXPECT_THAT(text, HasSubstr(R"("limit":{"kind":"vram","leases_allowed":null,)"
                              R"("vram_allowed_bytes":4294967296,"vram_asked_bytes":8589934592})"));
  EXPECT_THAT(text, HasSubstr(R"("halted":{"reason":"yields","since":"2026-02-07T13:18:20.500Z",)"
                              R"("cause":null,"for":{"id":9,"user":"bert","user_id":1001,)"
                              R"("name":"urgent","priority":"urgent"},"idle_ms":null})"));
}

TEST(Answers, AdviceOfANewerDaemonIsLeftOut) {
  const Result<NamedWhy> named = decode_why(
      R"({"id":1,"remedies":[{"kind":"buy_another"},{"kind":"ask_less","vram_bytes":7}]})");
  ASSERT_TRUE(named.ok()) << named.error().message;
  ASSERT_EQ(named->why.remedies.size(), 1U);
  EXPECT_EQ(named->why.remedies[0].bytes, Bytes{7});
}

TEST(Answers, FitReadsBackAsItWasWritten) {
  const std::string text = encode_fit(samples::fit(), samples::names());
  const Result<FitView> fit = decode_fit(text);
  ASSERT_TRUE(fit.ok()) << fit.error().message;
  EXPECT_EQ(encode_fit(*fit, samples::names()), text);
  EXPECT_THAT(fit->devices, ElementsAre(samples::device(1), samples::device(2)));
}

TEST(Answers, DaemonReadsBackAsItWasWritten) {
  const std::string text = encode_daemon(samples::daemon());
  const Result<DaemonView> daemon = decode_daemon(text);
  ASSERT_TRUE(daemon.ok()) << daemon.error().message;
  EXPECT_EQ(encode_daemon(*daemon), text);
  EXPECT_THAT(text, HasSubstr(R"({"schema":"berth/daemon/v1","pid":321,)"));
}

TEST(Answers, VersionReadsBackAsItWasWritten) {
  const ServerHello hello = {.version = "0.1.0", .world = "real", .simulated = false, .pid = 3};
  const Result<ServerHello> read = decode_version(encode_version(hello));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, hello);
  EXPECT_FALSE(decode_version(R"({"api":"1"})").ok());
}

TEST(Answers, WhatIsNoAnswerIsAnError) {
  for (const std::string_view text : {"", "{", "[]", R"({"id":"x","fits":1,"pid":"y"})"}) {
    EXPECT_FALSE(decode_why(text).ok()) << text;
    EXPECT_FALSE(decode_fit(text).ok()) << text;
    EXPECT_FALSE(decode_daemon(text).ok()) << text;
  }
  EXPECT_FALSE(decode_status(R"({"devices":[{"uuid":"card 0"}]})").ok());
  EXPECT_FALSE(decode_fit(R"({"fits":true,"devices":["card 0"]})").ok());
  EXPECT_FALSE(decode_why(R"({"id":1,"expected_start":"soon"})").ok());
}

}  // namespace
}  // namespace berth::wire
