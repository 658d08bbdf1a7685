// SPDX-License-Identifier: Apache-2.0
#include "server/own_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "model/lease.h"
#include "model/set_member.h"
#include "server/service_story_for_test.h"

namespace berth::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(UserId own, UserId asking, const LeaseView* lease) {
  auto found = words_for_berth(own, asking, lease);
  const auto* said = std::get_if<std::vector<std::string>>(&found);
  return said == nullptr ? std::vector<std::string>{"refused"} : *said;
}
std::string refusal(UserId own, UserId asking, const LeaseView* lease) {
  auto found = words_for_berth(own, asking, lease);
  const auto* error = std::get_if<wire::ApiError>(&found);
  return error == nullptr ? "" : error->code + ": " + error->message;
}

LeaseView lease_of(UserId user) {
  LeaseView lease;
  lease.id = {17};
  lease.user = user;
  return lease;
}

TEST(OwnPrograms, LogsAreAskedForByNumber) {
  LeaseView lease = lease_of(kAna);
  EXPECT_THAT(words(kAna, kAna, &lease), ElementsAre("logs", "--json", "17"));
  lease.request.member = SetMember{.set = {5}, .number = 3};
  EXPECT_THAT(words(kAna, kAna, &lease), ElementsAre("logs", "--json", "5.3"));
}

TEST(OwnPrograms, NobodyReadsFilesOfOthers) {
  const LeaseView of_ben = lease_of(kBen);
  EXPECT_THAT(refusal(kAna, kAna, &of_ben), HasSubstr("not_yours: lease 17 is another user's"));
  EXPECT_THAT(refusal(kAna, kBen, &of_ben), HasSubstr("not_supported"));
  EXPECT_THAT(refusal(kAna, kBen, &of_ben), HasSubstr("run berth logs 17"));
  EXPECT_THAT(refusal({999}, kBen, &of_ben), HasSubstr("run berth logs 17"));
}

TEST(OwnPrograms, TheDoctorLooksForTheDaemonsUserAlone) {
  EXPECT_THAT(words(kAna, kAna, nullptr), ElementsAre("doctor", "--json"));
  EXPECT_THAT(refusal(kAna, kBen, nullptr), HasSubstr("run berth doctor"));
  EXPECT_THAT(refusal({999}, kAna, nullptr), HasSubstr("not_supported"));
}

TEST(OwnPrograms, WhatIsPrintedIsTheAnswer) {
  const auto answer = answer_of(std::string(R"({"schema":"berth/log/v1","text":"{"})"));
  ASSERT_TRUE(std::holds_alternative<std::string>(answer));
  EXPECT_EQ(std::get<std::string>(answer), R"({"schema":"berth/log/v1","text":"{"})");
}

TEST(OwnPrograms, AnErrorThatIsPrintedIsOne) {
  const auto code = [](const Result<std::string>& printed) {
    const auto answer = answer_of(printed);
    const auto* error = std::get_if<wire::ApiError>(&answer);
    return error == nullptr ? "none" : error->code + ": " + error->message;
  };
  EXPECT_EQ(code(wire::encode_error({.code = "wrong_state", .message = "it is no job"})),
            "wrong_state: it is no job");
  EXPECT_THAT(code(std::string("Segmentation fault")), HasSubstr("nothing that makes sense"));
  EXPECT_THAT(code(std::string()), HasSubstr("nothing that makes sense"));
  EXPECT_THAT(code(std::string("[]")), HasSubstr("nothing that makes sense"));
  EXPECT_EQ(code(Error{Errc::kConflict, "four run"}), "busy: four run");
  EXPECT_EQ(code(Error{Errc::kTimedOut, "too long"}), "not_found: too long");
}

TEST_F(ServiceTest, ThePastOfAProgressIsForThoseWhoSeeItsCommand) {
  const std::string target = "/v1/leases/" + to_text(hold(gib(1)).id) + "/progress";
  EXPECT_EQ(get(target).body, R"({"schema":"berth/progress/v1","items":[]})");
  (void)post(target, R"({"done":3,"loss":2.5,"phase":"warmup"})");
  EXPECT_THAT(get(target).body, HasSubstr(R"("done":3,"loss":2.5,"phase":"warmup"})"));
  EXPECT_EQ(code_of(get(target, kBen)), "not_yours");
  EXPECT_EQ(get(target, kRoot).status, 200);
  service_.configure({.hello = {.world = "real"}, .own_user = kAna, .show_all_commands = true});
  EXPECT_EQ(get(target, kBen).status, 200);
}

TEST_F(ServiceTest, BerthIsAskedForLogsAndWhatTheDoctorFinds) {
  std::vector<std::string> words;
  BerthRunner::Then then;
  service_.connect(engine_, sent_, [&](std::vector<std::string> told, BerthRunner::Then with) {
    words = std::move(told);
    then = std::move(with);
  });
  const ConnectionId page = connect(kAna);
  service_.requested(page, {.method = "GET", .target = "/v1/doctor"});
  EXPECT_THAT(words, testing::ElementsAre("doctor", "--json"));
  then(std::string(R"({"schema":"berth/doctor/v1"})"));
  EXPECT_EQ(sent_.last_connection, page);
  EXPECT_EQ(sent_.last.body, R"({"schema":"berth/doctor/v1"})");
  const std::string id = to_text(hold(gib(1)).id);
  service_.requested(page, {.method = "GET", .target = "/v1/leases/" + id + "/log"});
  EXPECT_THAT(words, testing::ElementsAre("logs", "--json", id));
  then(Error{Errc::kConflict, "four run"});
  EXPECT_EQ(code_of(sent_.last), "busy");
  EXPECT_EQ(code_of(get("/v1/doctor", kBen)), "not_supported");
  service_.requested(page, {.method = "GET", .target = "/v1/doctor"});
  sent_.last = {.status = 0};
  service_.closed(page);
  then(std::string("{}"));
  EXPECT_EQ(sent_.last.status, 0) << "it has hung up";
}

}  // namespace
}  // namespace berth::server
