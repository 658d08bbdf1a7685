// SPDX-License-Identifier: Apache-2.0
#include "wire/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace berth::wire {
namespace {

using testing::HasSubstr;

// Scripts rely on these numbers. A line here changes only by being added.
TEST(Errors, EachWordHasItsStatuses) {
  struct Row {
    std::string_view word;
    int http;
    int exit;
  };
  constexpr Row kRows[] = {
      {"invalid", 400, 64},
      {"never_fits", 422, 64},
      {"no_device", 503, 69},
      {"busy", 409, 75},
      {"queue_full", 429, 75},
      {"not_found", 404, 66},
      {"not_yours", 403, 77},
      {"wrong_state", 409, 1},
      {"would_wait_on_itself", 409, 77},
      {"would_wait_for_each_other", 409, 75},
      {"inside_lease", 409, 77},
      {"disk_full", 507, 74},
      {"safe_mode", 503, 69},
      {"not_supported", 501, 64},
      {"ambiguous", 409, 64},
      {"not_moved", 409, 1},
      {"not_requeued", 409, 1},
      {"running", 409, 1},
      {"exists", 409, 1},
      {"bad_request", 400, 64},
      {"unknown_field", 400, 76},
      {"too_large", 413, 64},
      {"timeout", 408, 75},
      {"method_not_allowed", 405, 76},
      {"wrong_world", 409, 78},
      {"wrong_process", 403, 77},
      {"version", 426, 76},
      {"too_many", 429, 75},
      {"too_fast", 429, 75},
      {"too_many_connections", 503, 75},
      {"internal", 500, 70},
      {"stopping", 503, 69},
  };
  std::set<std::string_view> words;
  for (const Row& row : kRows) {
    EXPECT_EQ(http_status(row.word), row.http) << row.word;
    EXPECT_EQ(static_cast<int>(exit_code(row.word)), row.exit) << row.word;
    words.insert(row.word);
  }
  const auto all = error_words();
  EXPECT_EQ(words, std::set<std::string_view>(all.begin(), all.end()));
  EXPECT_EQ(words.size(), all.size());
}

TEST(Errors, EachWordHasACure) {
  for (const std::string_view word : error_words()) EXPECT_NE(cure_of(word), "") << word;
  EXPECT_EQ(cure_of("quota_of_next_year"), "");
}

// What `berth` finds wrong by itself has words as well, and the exit status that it ends with.
TEST(Errors, EachExitStatusOfAVerbHasAWordThatEndsWithIt) {
  for (int exit = 64; exit <= 78; ++exit) {
    const auto code = static_cast<ExitCode>(exit);
    const bool is_one = exit != 67 && exit != 68 && exit != 72 && exit != 73;
    if (!is_one) continue;
    EXPECT_EQ(exit_code(error_word(code)), code) << exit;
    EXPECT_NE(cure_of(error_word(code)), "") << exit;
  }
  EXPECT_EQ(error_word(ExitCode::kTryLater), "busy");
  EXPECT_EQ(error_word(ExitCode::kNoInput), "not_found");
  EXPECT_EQ(error_word(ExitCode::kVersion), "version");
  EXPECT_EQ(error_word(ExitCode::kFailed), "failed");
  EXPECT_EQ(error_word(ExitCode::kTimeLimit), "failed");
}

TEST(Errors, EveryRefusalHasAWordOfTheTable) {
  const auto words = error_words();
  for (int i = 0; i <= static_cast<int>(RefusalCode::kExists); ++i) {
    const Refusal refusal = {static_cast<RefusalCode>(i), "because"};
    EXPECT_THAT(words, testing::Contains(to_text(refusal.code)));
    const ApiError error = to_api_error(refusal);
    EXPECT_EQ(error.code, to_text(refusal.code));
    EXPECT_EQ(error.message, "because");
    const bool passes = error.code == "busy" || error.code == "queue_full";
    EXPECT_EQ(error.retry_after.has_value(), passes) << error.code;
  }
}

TEST(Errors, WordOfANewerDaemonIsAFailure) {
  EXPECT_EQ(exit_code("quota_of_next_year"), ExitCode::kFailed);
  EXPECT_EQ(http_status("quota_of_next_year"), 500);
}

TEST(Errors, DecoderErrorsBecomeTheirWords) {
  const auto word = [](Errc code) { return to_api_error(Error{code, "m"}).code; };
  EXPECT_EQ(word(Errc::kInvalid), code::kBadRequest);
  EXPECT_EQ(word(Errc::kNotFound), code::kUnknownField);
  EXPECT_EQ(word(Errc::kFull), code::kTooLarge);
  EXPECT_EQ(word(Errc::kVersion), code::kVersion);
  EXPECT_EQ(word(Errc::kIo), code::kInternal);
}

TEST(Errors, ReadBackAsTheyWereWritten) {
  const ApiError error = {"never_fits", "14.0 GiB is more than \"any\" GPU has"};
  EXPECT_EQ(encode_error(error),
            R"({"error":{"code":"never_fits","message":"14.0 GiB is more than \"any\" GPU has",)"
            R"("cure":"ask for less memory or fewer GPUs; berth status shows what there is"}})");
  EXPECT_EQ(encode_error({"new", "m"}), R"({"error":{"code":"new","message":"m","cure":null}})");
  EXPECT_EQ(decode_error(encode_error(error)), error);
  EXPECT_EQ(decode_error(R"({"error":{"code":"new","message":"m","hint":1},"x":2})"),
            (ApiError{"new", "m"}));
  const ApiError later = {"too_fast", "m", milliseconds(20)};
  EXPECT_EQ(encode_error(later),
            R"({"error":{"code":"too_fast","message":"m",)"
            R"("cure":"ask again after retry_after_ms","retry_after_ms":20}})");
  EXPECT_EQ(decode_error(encode_error(later)), later);
}

TEST(Errors, OneThatExistsNamesItsLease) {
  const ApiError error = to_api_error({RefusalCode::kExists, "it is there", LeaseId{12}});
  EXPECT_THAT(encode_error(error), HasSubstr(R"("lease":12})"));
  EXPECT_EQ(decode_error(encode_error(error)), error);
}

TEST(Errors, AnswerOfAnotherProgramIsStillAnError) {
  for (const std::string_view body :
       {"<html>502</html>", "{}", R"({"error":"no"})", "[1", "\xFF"}) {
    const ApiError error = decode_error(body);
    EXPECT_EQ(error.code, code::kInternal);
    EXPECT_THAT(error.message, HasSubstr(std::string(body)));
  }
  EXPECT_EQ(decode_error("").message, "the daemon gave no reason");
  EXPECT_LT(decode_error(std::string(1'000'000, 'x')).message.size(), 300U);
}

}  // namespace
}  // namespace berth::wire
