// SPDX-License-Identifier: Apache-2.0
#include "train/generate_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::train {
namespace {

using testing::HasSubstr;

std::string trouble(const std::vector<std::string>& words) {
  const auto parsed = parse_generate(words);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(GenerateWords, AreReadInBothForms) {
  const auto words = parse_generate({"out", "--prompt", "And God", "--tokens=20", "--temperature",
                                     "0.7", "--top_k=40", "--seed", "9", "--threads=2"});
  ASSERT_TRUE(words.ok()) << words.error().message;
  EXPECT_EQ(words->folder, "out");
  EXPECT_EQ(words->prompt, "And God");
  EXPECT_EQ(words->tokens, 20U);
  EXPECT_EQ(words->sampling.temperature, 0.7);
  EXPECT_EQ(words->sampling.top_k, 40U);
  EXPECT_EQ(words->seed, 9U);
  EXPECT_EQ(words->threads, 2U);
  EXPECT_EQ(parse_generate({"--prompt=a=b", "out"})->prompt, "a=b");
}

TEST(GenerateWords, OnlyTheFolderIsNeeded) {
  const auto words = parse_generate({"out"});
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(words->prompt, "\n");
  EXPECT_EQ(words->tokens, 500U);
  EXPECT_THAT(trouble({}), HasSubstr("name the folder of the run"));
  EXPECT_EQ(trouble({"--help"}), "");
  EXPECT_TRUE(parse_generate({"-h"})->help);
}

TEST(GenerateWords, WhatMakesNoSenseIsNamed) {
  EXPECT_THAT(trouble({"out", "--token", "3"}), HasSubstr("did you mean 'tokens'?"));
  EXPECT_EQ(trouble({"out", "--tokens", "many"}),
            "tokens: 'many' is not a whole number from 0 to 10000000");
  EXPECT_EQ(trouble({"out", "--temperature=-1"}),
            "temperature: '-1' is not a number from 0 to 100");
  EXPECT_THAT(trouble({"out", "--temperature=nan"}), HasSubstr("is not a number"));
  EXPECT_THAT(trouble({"out", "--top_k=-1"}), HasSubstr("is not a whole number from 0 on"));
  EXPECT_EQ(trouble({"out", "--prompt="}), "prompt: '' is not a text");
  EXPECT_EQ(trouble({"out", "--seed"}), "--seed wants a value");
  EXPECT_EQ(trouble({"out", "in"}), "one folder of a run: 'out'");
}

TEST(GenerateWords, HelpNamesEachKey) {
  for (const auto* key : {"prompt", "tokens", "temperature", "top_k", "seed", "threads"}) {
    EXPECT_THAT(generate_help(), HasSubstr(std::string("--") + key));
  }
}

}  // namespace
}  // namespace berth::train
