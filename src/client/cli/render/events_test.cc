// SPDX-License-Identifier: Apache-2.0
#include "cli/render/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/render/sample_test.h"
#include "wire/answers.h"
#include "wire/audit.h"
#include "wire/lease.h"
#include "wire/viewer.h"

namespace berth::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using wire::EventName;

wire::SseEvent event_of(EventName name, const LeaseView& lease, wire::LeaseExtras extras = {}) {
  static const wire::UserNames kNames;
  return {.event = std::string(to_text(name)),
          .id = "7",
          .data = wire::encode_lease(lease, {.user = sample::kMe, .names = kNames}, extras)};
}

std::string line(EventName name, const LeaseView& lease) {
  return event_line(event_of(name, lease), sample::context());
}

TEST(EventLines, TellWhenAndOfWhichLease) {
  EXPECT_EQ(line(EventName::kGranted, sample::held()),
            "2026-02-07T13:15:00.123Z  lease 12 (me/hybrid-train) has 11.0 GiB on GPU 0\n");
}

TEST(EventLines, TellHowALeaseEnded) {
  LeaseView lease = sample::held();
  lease.state = LeaseState::kEnded;
  lease.result = EndResult::kFailed;
  lease.exit = ExitStatus{.code = 3};
  EXPECT_THAT(line(EventName::kEnded, lease), EndsWith("has ended: failed with exit status 3\n"));
}

TEST(EventLines, OfARequestWithoutAGrantTheReasonIsTold) {
  const Refusal refusal{RefusalCode::kBusy, "it has waited its time"};
  const wire::SseEvent event =
      event_of(EventName::kEnded, sample::waiting(), {.refusal = &refusal});
  EXPECT_THAT(event_line(event, sample::context()),
              EndsWith("has ended: it has waited its time\n"));
}

// Each name has its words: what follows the lease is no bare name of the protocol.
TEST(EventLines, HaveASentenceForEachEventOfALease) {
  LeaseView lease = sample::yielding();
  lease.requeued_by = sample::kGuest;
  lease.measures = {{.number = 1, .measure = Measure::kCleanup, .at = sample::kNow}};
  for (const auto& word : kWordsOf<EventName>) {
    const EventName name = word.value;
    if (name == EventName::kWaiting || name == EventName::kFit || name == EventName::kAlert ||
        name == EventName::kAudit || name == EventName::kUnmanagedSeen ||
        name == EventName::kUnmanagedGone || name == EventName::kDevicePressure) {
      continue;  // Of a stream about one lease, or not about a lease.
    }
    EXPECT_THAT(line(name, lease), HasSubstr("lease 12")) << to_text(name);
    EXPECT_THAT(line(name, lease), Not(EndsWith(": " + std::string(to_text(name)) + "\n")));
  }
}

TEST(EventLines, TellOfUnmanagedProcesses) {
  const UnmanagedNews news{
      .device = sample::kDevice,
      .index = 1,
      .unmanaged_process = {
          .process = {77, 5}, .user = sample::kGuest, .name = "python", .used = gib(2)}};
  const std::string data = wire::encode_unmanaged(news, {});
  EXPECT_THAT(event_line({.event = "unmanaged_seen", .id = "", .data = data}, sample::context()),
              EndsWith("python (pid 77) of guest uses 2.0 GiB of GPU 1 without a lease\n"));
  EXPECT_THAT(event_line({.event = "unmanaged_gone", .id = "", .data = data}, sample::context()),
              EndsWith("python (pid 77) of guest is gone from GPU 1\n"));
}

TEST(EventLines, TellWhatThePastSaysOfALease) {
  const AuditEntry entry{.at = sample::kNow,
                         .verb = Verb::kResize,
                         .lease = {12},
                         .owner = sample::kMe,
                         .name = "train",
                         .reason = "to 4.0 GiB"};
  const std::string data = wire::encode_audit_entry(entry, {});
  EXPECT_THAT(event_line({.event = "audit", .id = "", .data = data}, sample::context()),
              HasSubstr("  lease 12 (me/train): resize, to 4.0 GiB\n"));
}

TEST(EventLines, TellOfADeviceThatIsShortOfMemory) {
  DeviceView device = sample::device();
  device.pressure = Pressure::kCritical;
  const std::string data = wire::encode_device(device, false, {});
  EXPECT_THAT(event_line({.event = "device_pressure", .id = "", .data = data}, sample::context()),
              HasSubstr("GPU 0 is short of memory"));
}

TEST(EventLines, WhatIsNotUnderstoodIsToldByItsName) {
  EXPECT_THAT(event_line({.event = "of_tomorrow", .id = "", .data = "{}"}, sample::context()),
              EndsWith("  of_tomorrow\n"));
  EXPECT_THAT(event_line({.event = "granted", .id = "", .data = "[]"}, sample::context()),
              EndsWith("  granted\n"));
}

TEST(EventLines, WhatOthersNamedCannotDriveTheTerminal) {
  LeaseView lease = sample::held();
  lease.request.name = "a\033[2Jb\nc";
  const std::string text = line(EventName::kGranted, lease);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(EventJson, HasTheDataAsTheyCame) {
  const std::string text =
      event_json({.event = "granted", .id = "7", .data = R"({"id":12})"}, sample::context());
  EXPECT_EQ(text, R"({"time":"2026-02-07T13:15:00.123Z","event":"granted","id":"7",)"
                  R"("data":{"id":12}})"
                  "\n");
}

}  // namespace
}  // namespace berth::cli
