// SPDX-License-Identifier: Apache-2.0
#include "jobs/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::jobs {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

const Job kJob{.id = {7},
               .handle = {1, 2},
               .directory = "/home/ada/a b",
               .umask = 027,
               .submitted = {1'770'000'000'000}};

TEST(JobFile, SaysWhatTheJobIs) {
  EXPECT_EQ(*decode_job(encode_job(kJob)), kJob);
}

TEST(JobFile, SaysWhereItsOutputGoesIfItsUserDoes) {
  Job job = kJob;
  job.log = "logs/%j \"a\".log";
  EXPECT_EQ(decode_job(encode_job(job))->log, job.log);
}

TEST(JobFile, OfANewerVersionIsLeftAlone) {
  Job job = kJob;
  job.version = 2;
  const Result<Job> read = decode_job(encode_job(job));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kVersion);
  EXPECT_THAT(read.error().message, HasSubstr("job 7 is of a newer version"));
}

TEST(JobFile, ThatWasCutOffOrMakesNoSenseIsRefused) {
  const std::string text = encode_job(kJob);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(decode_job(text.substr(0, size)).ok()) << size;
  }
  Job job = kJob;
  job.directory = "a";
  EXPECT_FALSE(decode_job(encode_job(job)).ok());
  job = kJob;
  job.id = {};
  EXPECT_FALSE(decode_job(encode_job(job)).ok());
}

TEST(JobFile, HasTheResultBesideIt) {
  const JobResult result{.result = EndResult::kFailed, .code = 3, .trouble = "it \"failed\""};
  EXPECT_EQ(*decode_result(encode_result(result)), result);
  const JobResult killed{.result = EndResult::kKilled, .signal = 9};
  EXPECT_EQ(*decode_result(encode_result(killed)), killed);
  EXPECT_FALSE(decode_result("{}").ok());
}

TEST(AttemptFile, TellsHowFarItCame) {
  const std::string start = "{\"phase\":\"start\",\"pid\":12}\n";
  const std::string run = "{\"phase\":\"run\",\"lease\":7,\"code\":null,\"pid\":13}\n";
  EXPECT_EQ(read_attempt(""), Attempt{});
  EXPECT_EQ(read_attempt(start), (Attempt{.starter = 12}));
  EXPECT_EQ(read_attempt(start + run), (Attempt{.starter = 12, .ran = true}));
  EXPECT_EQ(read_attempt(start + "{\"phase\":\"start\",\"log_at_bytes\":0}\n"),
            (Attempt{.starter = 12, .log_at = Bytes{0}}));
  EXPECT_EQ(read_attempt(start + run + "{\"phase\":\"done\",\"code\":3,\"signal\":null}\n"),
            (Attempt{.starter = 12, .ran = true, .over = true, .code = 3}));
  EXPECT_EQ(read_attempt(start + run + "{\"phase\":\"done\",\"code\":null,\"signal\":9}\n"),
            (Attempt{.starter = 12, .ran = true, .over = true, .signal = 9}));
}

TEST(AttemptFile, ALineThatWasCutOffOrIsNewerIsPassedOver) {
  EXPECT_EQ(read_attempt("{\"phase\":\"start\",\"pid\":12}\n{\"phase\":\"do"),
            (Attempt{.starter = 12}));
  EXPECT_EQ(read_attempt("{\"phase\":\"dance\"}\nnonsense\n{\"phase\":\"run\"}\n"),
            (Attempt{.ran = true}));
}

TEST(Strings, EndWithANulEach) {
  EXPECT_EQ(join_strings({"-m", "", "a\nb"}), "-m\0\0a\nb\0"s);
  EXPECT_THAT(split_strings("-m\0\0a\nb\0"s), ElementsAre("-m", "", "a\nb"));
  EXPECT_THAT(split_strings("a\0cut off"s), ElementsAre("a"));
  EXPECT_THAT(split_strings(""), ElementsAre());
}

}  // namespace
}  // namespace berth::jobs
