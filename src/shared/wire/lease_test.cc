// SPDX-License-Identifier: Apache-2.0
#include "wire/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "wire/samples_for_test.h"

namespace berth::wire {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string encoded(const LeaseView& view) {
  return encode_lease(view, {.user = samples::kAnna, .names = samples::names()});
}

// tests/baseline has the whole of it.
TEST(Lease, IsWrittenWithItsSumsAndInUnitsAndWords) {
  LeaseView view = samples::held();
  view.handle = {.high = 7, .low = 9};
  view.waited = milliseconds(877);
  view.queued_at = {1'770'470'100'123};
  view.supervisor = Process{.pid = 4710};
  view.pause = Pause{{1'770'470'300'500}, "lunch", UnixMs{1'770'473'900'500}, samples::kBert};
  const std::string text = encoded(view);
  for (const std::string_view field :
       {R"({"id":12,"handle":"l_aaaaaaaaaaaaoaaaaaaaaaaabe","name":"text )",
        R"("user":"anna","user_id":1000,)",
        R"("state":"held","flags":["over_budget","degraded","astray","full","checkpointing",)"
        R"("requeuing"],"pressure":"critical",)",
        R"("exit_code":null,"exit_signal":null,"priority":"urgent","share":"slice",)"
        R"("device_count":2,"requested_devices":[],"mixed":true,)",
        R"("vram_granted_bytes":8589934592,"vram_used_bytes":6442450944,)"
        R"("vram_peak_bytes":8589934592,"vram_ledger_bytes":6442450944,"devices":[)"
        R"({"uuid":"GPU-5a1c0d2e-0000-0000-0000-000000000001","index":0,)"
        R"("vram_granted_bytes":4294967296,"vram_used_bytes":5368709120,)"
        R"("vram_peak_bytes":6442450944,"vram_ledger_bytes":5368708096,)"
        R"("vram_drift_bytes":1024,"refused_allocations":3,"vram_wanted_bytes":2147483648,)"
        R"("gpu_utilization_percent":85},)"
        R"({"uuid":"GPU-5a1c0d2e-0000-0000-0000-000000000002","index":1,)"
        R"("vram_granted_bytes":4294967296,"vram_used_bytes":1073741824,)"
        R"("vram_peak_bytes":2147483648,"vram_ledger_bytes":1073742848,)"
        R"("vram_drift_bytes":-1024,"refused_allocations":0,"vram_wanted_bytes":null,)"
        R"("gpu_utilization_percent":null}],)",
        R"("supervisor_pid":4710,)", R"("labels":{"key":"text )",
        R"("queued":"2026-02-07T13:15:00.123Z",)", R"("waited_ms":877,"queue_position":null,)",
        R"("measures":[{"number":1,"measure":"checkpoint","cause":"lease_critical",)"
        R"("time":"2026-02-07T13:16:30.000Z","outcome":"failed","detail":"answered 500"},)"
        R"({"number":2,"measure":"suspend","cause":"over_budget",)"
        R"("time":"2026-02-07T13:18:30.000Z","outcome":null,"detail":null}],)"
        R"("paused":{"since":"2026-02-07T13:18:20.500Z","until":"2026-02-07T14:18:20.500Z",)"
        R"("reason":"lunch","by":"bert","by_id":1001},"on_hold":{"since":"2026-02-07T)",
        R"(},"halted":null,)"
        R"("moved_by":"anna","moved_by_id":1000,"ended_by":null,"ended_by_id":null,)"
        R"("requeued_by":"bert","requeued_by_id":1001,)"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
}

TEST(Lease, ReadsBackAsItWasWritten) {
  for (const LeaseView& view : {samples::held(), samples::waiting(), samples::ended()}) {
    const std::string text = encoded(view);
    const Result<LeaseAnswer> answer =
        decode_lease(encode_lease(view, {.user = view.user, .names = samples::names()}));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->user, samples::names().at(view.user));
    EXPECT_EQ(encoded(answer->view), text);
    EXPECT_EQ(answer->view.request.vram, view.request.vram);
    EXPECT_EQ(answer->view.exit, view.exit);
  }
}

TEST(Lease, WithoutGrantHasNoFiguresAndNoStart) {
  const std::string text = encoded(samples::waiting());
  for (const std::string_view field : {"vram_requested_bytes", "vram_granted_bytes",
                                       "vram_used_bytes", "vram_peak_bytes", "started", "pid"}) {
    EXPECT_THAT(text, HasSubstr("\"" + std::string(field) + "\":null"));
  }
  EXPECT_THAT(text, HasSubstr(R"("devices":[])"));
}

TEST(Lease, SumIsUnknownIfOnePartIs) {
  LeaseView view = samples::held();
  view.parts[1].used.reset();
  const std::string text = encoded(view);
  EXPECT_THAT(text, HasSubstr(R"("vram_used_bytes":null,"vram_peak_bytes":8589934592,)"));
}

TEST(Lease, SumsSaturate) {
  LeaseView view = samples::held();
  view.request.vram = {std::uint64_t{1} << 62U};
  view.request.device_count = 16;
  view.parts[0].used = Bytes::max();
  EXPECT_TRUE(decode_lease(encoded(view)).ok());
  EXPECT_THAT(encoded(view), HasSubstr(R"("vram_used_bytes":18446744073709551615)"));
}

TEST(Lease, CommandOfAnotherIsHiddenWhereCommandsAre) {
  const LeaseView view = samples::held();
  const auto seen_by = [&](UserId user, bool all) {
    return encode_lease(view, {.user = user, .sees_all_commands = all, .names = samples::names()});
  };
  EXPECT_THAT(seen_by(samples::kAnna, false), HasSubstr("train.py"));
  EXPECT_THAT(seen_by(samples::kBert, true), HasSubstr("train.py"));
  EXPECT_THAT(seen_by(samples::kBert, false), Not(HasSubstr("train.py")));
  EXPECT_THAT(seen_by(samples::kBert, false), HasSubstr(R"("command":null)"));
  EXPECT_THAT(seen_by(samples::kBert, false), HasSubstr(R"("name":"text )"));
}

TEST(Lease, HandleThatIsNotToldIsNullAndReadsAsNone) {
  const std::string told =
      encode_lease(samples::held(), {.user = samples::kBert, .names = samples::names()});
  EXPECT_THAT(told, HasSubstr(R"("handle":null)"));
  const Result<LeaseAnswer> answer = decode_lease(told);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->view.handle, Handle{});
  const std::string admin =
      encode_lease(samples::held(),
                   {.user = samples::kBert, .sees_all_handles = true, .names = samples::names()});
  EXPECT_EQ(decode_lease(admin)->view.handle, samples::held().handle);
}

TEST(Lease, UserWithoutNameIsNull) {
  const UserNames nobody;
  EXPECT_THAT(encode_lease(samples::held(), {.user = samples::kAnna, .names = nobody}),
              HasSubstr(R"("user":null,"user_id":1000)"));
}

TEST(Lease, CommandThatIsNoTextStaysReadable) {
  LeaseView view = samples::held();
  view.request.command = "cat \xFF\xFE\n\x1B[2J";
  const Result<LeaseAnswer> answer = decode_lease(encoded(view));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->view.request.command, "cat \uFFFD\uFFFD\n\x1B[2J");
}

TEST(Lease, ExitIsACodeOrASignal) {
  LeaseView view = samples::ended();
  EXPECT_THAT(encoded(view), HasSubstr(R"("exit_code":null,"exit_signal":9)"));
  view.exit = ExitStatus{.code = 3};
  EXPECT_THAT(encoded(view), HasSubstr(R"("exit_code":3,"exit_signal":null)"));
}

TEST(Lease, CarriesEnvironmentAndRefusalWhereTheyApply) {
  const Environment env = {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"BERTH_LEASE", "12"}};
  const Refusal refusal = {RefusalCode::kBusy, "waited 5 s"};
  const Result<LeaseAnswer> answer = decode_lease(
      encode_lease(samples::held(), {.user = samples::kAnna, .names = samples::names()},
                   {.env = &env, .refusal = &refusal}));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->env, env);
  EXPECT_EQ(answer->refusal, (ApiError{"busy", "waited 5 s", kCheckAgainUnknown}));
}

TEST(Lease, OnlyVariablesOfOursAreTakenFromAnAnswer) {
  const Environment env = {{"LD_PRELOAD", "/tmp/evil.so"},
                           {"PATH", "/tmp"},
                           {"NVIDIA_VISIBLE_DEVICES", "0"},
                           {"XCUDA_", "1"}};
  const Result<LeaseAnswer> answer = decode_lease(encode_lease(
      samples::held(), {.user = samples::kAnna, .names = samples::names()}, {.env = &env}));
  ASSERT_TRUE(answer.ok());
  EXPECT_THAT(answer->env, UnorderedElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "0")));
}

TEST(Lease, FieldsOfANewerDaemonAreIgnored) {
  std::string text = encoded(samples::held());
  text.insert(1, R"("lives":3,"history":{"a":[1,2,{"b":null}]},)");
  EXPECT_TRUE(decode_lease(text).ok());
}

TEST(Lease, AnswerThatIsNoLeaseIsAnError) {
  const std::string whole = encoded(samples::held());
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), whole.substr(0, whole.size() / 2),
        std::string(R"({"id":1,"handle":"x","user_id":0,"state":"held"})"),
        std::string(R"({"id":1,"handle":"l_aaaaaaaaaaaaoaaaaaaaaaaabe","user_id":0,)"
                    R"("state":"flying"})")}) {
    const Result<LeaseAnswer> answer = decode_lease(text);
    ASSERT_FALSE(answer.ok()) << text;
    EXPECT_THAT(answer.error().message, HasSubstr("the daemon's answer"));
  }
}

TEST(LeaseList, ReadsBackAsItWasWritten) {
  const std::string text =
      encode_leases({{1'770'470'110'000}, {samples::held(), samples::waiting()}},
                    {.user = samples::kAnna, .names = samples::names()});
  EXPECT_THAT(text, HasSubstr(R"({"schema":"berth/ps/v1","time":"2026-02-07T13:15:10.000Z",)"));
  const Result<LeaseList> list = decode_leases(text);
  ASSERT_TRUE(list.ok()) << list.error().message;
  EXPECT_EQ(list->names, samples::names());
  EXPECT_EQ(
      encode_leases({list->time, list->items}, {.user = samples::kAnna, .names = list->names}),
      text);
  const Result<LeaseList> none = decode_leases(R"({"items":[]})");
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->items, IsEmpty());
}

}  // namespace
}  // namespace berth::wire
