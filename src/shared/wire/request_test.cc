// SPDX-License-Identifier: Apache-2.0
#include "wire/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/sample_for_test.h"
#include "wire/error.h"
#include "wire/limits.h"
#include "wire/samples_for_test.h"

namespace berth::wire {
namespace {

using testing::HasSubstr;

// tests/baseline has the whole of it.
TEST(Request, IsWrittenInUnitsAndWords) {
  const std::string text = encode(samples::request());
  for (const std::string_view field :
       {R"("command":"python train.py --lr \"1e-3\"",)", R"("labels":{"key":"text )",
        R"("priority":"urgent","share":"slice","vram_bytes":)",
        R"("devices":[1,"GPU-5a1c0d2e-0000-0000-0000-000000000002"],"mixed":true,"eta_ms":)",
        R"("checkpoint":{"by":"library","grace_ms":)", R"("anchor":{"pid":)"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
}

TEST(Request, ReadsBackAsItWasWritten) {
  const std::string text = encode(samples::request());
  const Result<RequestBody> body = decode<RequestBody>(text);
  ASSERT_TRUE(body.ok()) << body.error().message;
  EXPECT_EQ(encode(*body), text);
}

// So a daemon that is one version older is only met with a field it does not know where the user
// asked for it.
TEST(Request, LeavesOutWhatIsAtItsDefault) {
  EXPECT_EQ(encode(RequestBody{}), "{}");
}

TEST(Request, WithoutFieldsIsAllDefaults) {
  for (const std::string_view text :
       {"", "{}", " { } ",
        R"({"name":null,"labels":null,"vram_bytes":null,"devices":null,"wait_ms":null,)"
        R"("mixed":null,"priority":null,"anchor":null,"ancestors":null})"}) {
    const Result<RequestBody> body = decode<RequestBody>(text);
    ASSERT_TRUE(body.ok()) << body.error().message;
    EXPECT_EQ(encode(*body), "{}");
    EXPECT_EQ(body->request.wait_max, std::nullopt);
  }
}

TEST(Request, APriorityThatWasNamedIsToldFromTheDefault) {
  EXPECT_EQ(encode(RequestBody{.named = {.priority = true}}), R"({"priority":"normal"})");
  EXPECT_TRUE(decode<RequestBody>(R"({"priority":"normal"})")->named.priority);
  EXPECT_FALSE(decode<RequestBody>("{}")->named.priority);
  EXPECT_FALSE(decode<RequestBody>(R"({"priority":null})")->named.priority);
  const RequestBody beside{.named = {.share = true}};
  EXPECT_EQ(encode(beside), R"({"share":"budget"})");
  EXPECT_TRUE(decode<RequestBody>(encode(beside))->named.share);
  EXPECT_FALSE(decode<RequestBody>("{}")->named.share);
}

TEST(Request, WaitOfZeroIsSomethingElseThanNoBound) {
  const Result<RequestBody> body = decode<RequestBody>(R"({"wait_ms":0})");
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->request.wait_max, Duration{});
}

TEST(Request, TakesTheLargestFigures) {
  const Result<RequestBody> body =
      decode<RequestBody>(R"({"vram_bytes":4611686018427387904,"eta_ms":3153600000000,)"
                          R"("device_count":4294967295,"devices":[4294967295]})");
  ASSERT_TRUE(body.ok()) << body.error().message;
  EXPECT_EQ(body->request.vram, limits::kVramMax);
  EXPECT_EQ(body->request.eta, limits::kDurationMax);
}

struct Bad {
  std::string text;
  std::string_view code;
  std::string_view message;  // A part of it: the field and what would be right.
};

void expect_refused(const Bad& bad) {
  const Result<RequestBody> body = decode<RequestBody>(bad.text);
  ASSERT_FALSE(body.ok()) << bad.text;
  EXPECT_EQ(to_api_error(body.error()).code, bad.code) << bad.text;
  EXPECT_THAT(body.error().message, HasSubstr(bad.message)) << bad.text;
  EXPECT_THAT(body.error().message, HasSubstr("the request body"));
}

TEST(Request, WrongValueIsRefusedByName) {
  const std::string_view bytes =
      "'vram_bytes' must be a whole number from 1 to 4611686018427387904";
  for (const Bad& bad : std::vector<Bad>{
           {R"({"vram_bytes":-1})", code::kBadRequest, bytes},
           {R"({"vram_bytes":-1})", code::kBadRequest, "not -1"},
           {R"({"vram_bytes":0})", code::kBadRequest, bytes},
           {R"({"vram_bytes":-0})", code::kBadRequest, bytes},
           {R"({"vram_bytes":1.5})", code::kBadRequest, bytes},
           {R"({"vram_bytes":1e9})", code::kBadRequest, bytes},
           {R"({"vram_bytes":4611686018427387905})", code::kBadRequest, bytes},
           {R"({"vram_bytes":18446744073709551615})", code::kBadRequest, bytes},
           {R"({"vram_bytes":18446744073709551616})", code::kBadRequest, bytes},
           {R"({"vram_bytes":99999999999999999999999999})", code::kBadRequest, bytes},
           {R"({"vram_bytes":"8G"})", code::kBadRequest, "not text"},
           {R"({"vram_bytes":true})", code::kBadRequest, "not true"},
           {R"({"vram_bytes":[1]})", code::kBadRequest, "not an array"},
           {R"({"eta_ms":0})", code::kBadRequest, "'eta_ms' must be a whole number from 1 to"},
           {R"({"limit_ms":-5})", code::kBadRequest, "'limit_ms' must be"},
           {R"({"ttl_ms":0})", code::kBadRequest, "'ttl_ms' must be"},
           {R"({"wait_ms":-1})", code::kBadRequest, "'wait_ms' must be a whole number from 0 to"},
           {R"({"wait_ms":3153600000001})", code::kBadRequest, "'wait_ms' must be"},
           {R"({"wait_ms":9223372036854775808})", code::kBadRequest, "'wait_ms' must be"},
           {R"({"device_count":0})", code::kBadRequest, "'device_count' must be"},
           {R"({"device_count":4294967296})", code::kBadRequest, "'device_count' must be"},
           {R"({"devices":0})", code::kBadRequest, "'devices' must be an array"},
           {R"({"devices":[-1]})", code::kBadRequest, "'devices' must be"},
           {R"({"devices":[0.5]})", code::kBadRequest, "'devices' must be"},
           {R"({"devices":[4294967296]})", code::kBadRequest, "no device can have"},
           {R"({"devices":["GPU-12"]})", code::kBadRequest, "'devices' must hold index numbers"},
           {R"({"name":5})", code::kBadRequest, "'name' must be text, not 5"},
           {R"({"name":"a\u0007b"})", code::kBadRequest, "'name' must not hold control"},
           {R"({"name":"a\u009b2J"})", code::kBadRequest, "'name' must not hold control"},
           {R"({"name":"a\u202etxt"})", code::kBadRequest, "'name' must not hold U+202E"},
           {R"({"session":"a\u200bb"})", code::kBadRequest, "'session' must not hold U+200B"},
           {R"({"labels":{"a":"\ufeff"}})", code::kBadRequest, "'labels.a' must not hold U+FEFF"},
           {R"({"labels":{"\u2067":"a"}})", code::kBadRequest, "'labels' must not hold U+2067"},
           {R"({"name":"\udb40\udc41"})", code::kBadRequest, "'name' must not hold U+E0041"},
           {R"({"session":"a\nb"})", code::kBadRequest, "'session' must not hold control"},
           {R"({"command":"a\u0000b"})", code::kBadRequest, "'command' must not hold a NUL"},
           {R"({"labels":{"a":1}})", code::kBadRequest, "'labels.a' must be text"},
           {R"({"labels":{"a":null}})", code::kBadRequest, "'labels.a' must be text"},
           {R"({"labels":{"a\tb":"c"}})", code::kBadRequest, "'labels' must not hold control"},
           {R"({"labels":["a"]})", code::kBadRequest, "'labels' must be an object"},
           {R"({"priority":"hihg"})", code::kBadRequest,
            "'priority' must be low, normal, high or urgent, not 'hihg'"},
           {R"({"share":""})", code::kBadRequest, "'share' must be budget, exclusive or slice"},
           {R"({"leftovers":"stay"})", code::kBadRequest, "'leftovers' must be"},
           {R"({"over_budget":"shout"})", code::kBadRequest, "'over_budget' must be"},
           {R"({"mixed":1})", code::kBadRequest, "'mixed' must be true or false"},
           {R"({"ancestors":[0]})", code::kBadRequest, "'ancestors' must be"},
           {R"({"ancestors":["7"]})", code::kBadRequest, "'ancestors' must be"},
           {R"({"anchor":7})", code::kBadRequest, "'anchor' must be an object"},
           {R"({"anchor":{"pid":1}})", code::kBadRequest, "'anchor.start_ticks' is missing"},
           {R"({"anchor":{"pid":0,"start_ticks":1}})", code::kBadRequest, "'anchor.pid' must be"},
           {R"({"anchor":{"pid":2147483648,"start_ticks":1}})", code::kBadRequest,
            "'anchor.pid' must be"},
       }) {
    expect_refused(bad);
  }
}

TEST(Request, UnknownFieldIsRefusedWithTheOneThatWasMeant) {
  for (const Bad& bad : std::vector<Bad>{
           {R"({"vram_byte":5})", code::kUnknownField,
            "there is no field 'vram_byte'; did you mean 'vram_bytes'?"},
           {R"({"Name":"a"})", code::kUnknownField, "there is no field 'Name'"},
           {R"({"colour":1})", code::kUnknownField, "there is no field 'colour'"},
           {R"({"anchor":{"pid":1,"start_ticks":1,"start_tics":2}})", code::kUnknownField,
            "there is no field 'anchor.start_tics'; did you mean 'anchor.start_ticks'?"},
           {"{\"" + std::string(1'000, 'x') + "\":1}", code::kUnknownField, "xxx…'"},
       }) {
    expect_refused(bad);
  }
}

TEST(Request, WhatIsNotOneJsonObjectIsRefused) {
  const std::string deep(60'000, '[');
  for (const Bad& bad : std::vector<Bad>{
           {R"({"name":"a","name":"b"})", code::kBadRequest, "gives the field 'name' twice"},
           {R"({"labels":{"k":"a","k":"b"}})", code::kBadRequest, "gives the field 'k' twice"},
           {"[]", code::kBadRequest, "must be a JSON object, not an array"},
           {"null", code::kBadRequest, "must be a JSON object, not null"},
           {"7", code::kBadRequest, "must be a JSON object, not 7"},
           {"\"x\"", code::kBadRequest, "must be a JSON object, not text"},
           {"{", code::kBadRequest, "is not valid JSON"},
           {R"({"name":"half of a bo)", code::kBadRequest, "is not valid JSON"},
           {"{}{}", code::kBadRequest, "is not valid JSON"},
           {"{} x", code::kBadRequest, "is not valid JSON"},
           {"{'name':1}", code::kBadRequest, "is not valid JSON"},
           {R"({"name":"a",})", code::kBadRequest, "is not valid JSON"},
           {R"({"vram_bytes":NaN})", code::kBadRequest, "is not valid JSON"},
           {R"({"vram_bytes":1e999})", code::kBadRequest, "not a number with a fraction or an exp"},
           {"{/* */}", code::kBadRequest, "is not valid JSON"},
           {"{\"name\":\"\xFF\"}", code::kBadRequest, "is not valid JSON"},
           {"{\"name\":\"\xC0\xAF\"}", code::kBadRequest, "is not valid JSON"},
           {"{\"name\":\"\xE2\x82\"}", code::kBadRequest, "is not valid JSON"},
           {R"({"name":"\ud800"})", code::kBadRequest, "is not valid JSON"},
           {std::string("{}\0", 3), code::kBadRequest, "is not valid JSON"},
           {deep, code::kBadRequest, "nested deeper than 16 levels"},
           {R"({"a":)" + deep, code::kBadRequest, "nested deeper than 16 levels"},
           {"{\"command\":\"" + std::string(limits::kBodyMax, 'x') + "\"}", code::kTooLarge,
            "more than 65536 bytes"},
       }) {
    expect_refused(bad);
  }
}

TEST(Request, ListsAreBounded) {
  std::string text = R"({"devices":[0)";
  for (int i = 0; i < 300; ++i) text += ",0";
  expect_refused({text + "]}", code::kBadRequest, "'devices' may have at most 256 elements"});
}

template <class Body>
void expect_trip() {
  Body body = full_sample<Body>();
  if constexpr (std::is_same_v<Body, ReleaseBody>) body.kill = false;  // Or detach, not both.
  const std::string text = encode(body);
  const Result<Body> read = decode<Body>(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(encode(*read), text);
}

template <class... Body>
void expect_trips(const std::variant<Body...>* /*all*/) {
  (expect_trip<Body>(), ...);
}

TEST(Bodies, WithAllTheirFieldsReadBackAsTheyWereWritten) {
  expect_trips(static_cast<AnyBody*>(nullptr));
}

TEST(SmallBodies, ReadBackAsTheyWereWritten) {
  const Process process = {.pid = 5, .start_ticks = 6};
  const Result<Process> read = decode<Process>(encode(process));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, process);

  const ExitBody exit = {.exit = {.code = 0, .signal = 9}, .leftovers = {process, process}};
  const Result<ExitBody> read_exit = decode<ExitBody>(encode(exit));
  ASSERT_TRUE(read_exit.ok());
  EXPECT_EQ(read_exit->exit, exit.exit);
  EXPECT_EQ(read_exit->leftovers, exit.leftovers);

  for (const bool value : {false, true}) {
    EXPECT_EQ(decode<ParkBody>(encode(ParkBody{.parked = value}))->parked, value);
    EXPECT_EQ(decode<ReleaseBody>(encode(ReleaseBody{.kill = value}))->kill, value);
    EXPECT_EQ(decode<ReleaseBody>(encode(ReleaseBody{.detach = value}))->detach, value);
  }
  EXPECT_EQ(decode<RenewBody>(encode(RenewBody{.ttl = hours(2)}))->ttl, hours(2));
  const ProgressBody progress{.done = 3, .total = 4, .left = minutes(5), .note = "last one"};
  const auto told = decode<ProgressBody>(encode(progress));
  EXPECT_EQ(told->done, 3u);
  EXPECT_EQ(told->total, 4u);
  EXPECT_EQ(told->left, minutes(5));
  EXPECT_EQ(told->note, "last one");
  EXPECT_EQ(decode<ProgressBody>(R"({"done":0})")->total, std::nullopt);

  const ResizeBody resize = {.share = Share::kBudget, .vram = gib(3), .wait_max = seconds(5)};
  const Result<ResizeBody> read_resize = decode<ResizeBody>(encode(resize));
  ASSERT_TRUE(read_resize.ok());
  EXPECT_EQ(read_resize->share, resize.share);
  EXPECT_EQ(read_resize->vram, resize.vram);
  EXPECT_EQ(read_resize->wait_max, resize.wait_max);
}

TEST(SmallBodies, MissingFieldIsRefusedByName) {
  const auto message = [](const auto& result) {
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  EXPECT_THAT(message(decode<Process>("")), HasSubstr("'pid' is missing"));
  EXPECT_THAT(message(decode<ExitBody>("{}")), HasSubstr("'code' is missing"));
  EXPECT_THAT(message(decode<ParkBody>("{}")), HasSubstr("'parked' is missing"));
  EXPECT_THAT(message(decode<RenewBody>("{}")), HasSubstr("'ttl_ms' is missing"));
  EXPECT_THAT(message(decode<ProgressBody>("{}")), HasSubstr("'done' is missing"));
  EXPECT_THAT(message(decode<ProgressBody>(R"({"done":-1})")), HasSubstr("'done'"));
  EXPECT_THAT(message(decode<ProgressBody>(R"({"done":1,"note":"a\nb"})")),
              HasSubstr("'note' must not hold control characters"));
  EXPECT_THAT(message(decode<ResizeBody>("{}")), HasSubstr("'vram_bytes' is missing"));
  EXPECT_THAT(message(decode<ResizeBody>(R"({"vram_bytes":0})")),
              HasSubstr("'vram_bytes' must be"));
  EXPECT_THAT(message(decode<ExitBody>(R"({"code":256})")), HasSubstr("'code' must be"));
  EXPECT_THAT(message(decode<ExitBody>(R"({"code":0,"signal":65})")),
              HasSubstr("'signal' must be"));
  EXPECT_TRUE(decode<ReleaseBody>("").ok());
  EXPECT_FALSE(decode<ReleaseBody>(R"({"kill":true,"detach":true})").ok());
  EXPECT_TRUE(decode<ResizeBody>(R"({"share":"exclusive"})").ok());
}

TEST(SmallBodies, NothingMeansNothing) {
  EXPECT_TRUE(decode<NoBody>("").ok());
  EXPECT_TRUE(decode<NoBody>("{}").ok());
  EXPECT_FALSE(decode<NoBody>(R"({"force":true})").ok());
  EXPECT_FALSE(decode<NoBody>("[]").ok());
}

}  // namespace
}  // namespace berth::wire
