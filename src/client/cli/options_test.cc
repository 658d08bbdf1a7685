// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using Words = std::vector<std::string>;

// The options of a verb like `run`, and what was read into them.
struct Sample {
  bool all = false;
  bool wide = false;
  std::optional<Bytes> size;
  bool waits = false;
  std::optional<Duration> wait;
  std::string order = "fair";
  Words command;
  Options options;

  explicit Sample(std::string_view command_form = "[COMMAND]") {
    options.add("-a,--all", store(all), "all");
    options.add("-w,--wide", store(wide), "wide");
    options.add("-m,--vram=SIZE", store(size), "memory");
    options.add(
        "-W,--wait[=DUR]",
        [this](std::string_view text) -> Status {
          waits = true;
          return text.empty() ? Status(Unit{}) : store(wait)(text);
        },
        "wait");
    options.add("--order=ORDER", store(order), "order", {"fifo", "fair", "priority"});
    options.command(command_form, command, "what to run");
  }

  std::string error_of(const Words& words) const {
    const Status status = options.parse(words);
    return status.ok() ? "none" : status.error().message;
  }
};

TEST(Options, AValueStandsAfterEqualsOrBlankOrItsLetter) {
  for (const Words& words : {Words{"--vram=8G"}, {"--vram", "8G"}, {"-m", "8G"}, {"-m8G"}}) {
    Sample sample;
    ASSERT_EQ(sample.error_of(words), "none");
    EXPECT_EQ(sample.size, gib(8));
  }
}

TEST(Options, LettersOfFlagsStandTogether) {
  Sample sample;
  ASSERT_EQ(sample.error_of({"-awm8G"}), "none");
  EXPECT_TRUE(sample.all && sample.wide);
  EXPECT_EQ(sample.size, gib(8));
}

TEST(Options, AnOptionalValueIsTakenWithEqualsOnly) {
  Sample bare;
  ASSERT_EQ(bare.error_of({"--wait", "make"}), "none");
  EXPECT_TRUE(bare.waits);
  EXPECT_EQ(bare.wait, std::nullopt);
  EXPECT_EQ(bare.command, Words{"make"});

  Sample valued;
  ASSERT_EQ(valued.error_of({"--wait=5m", "true"}), "none");
  EXPECT_EQ(valued.wait, minutes(5));

  Sample letter;
  ASSERT_EQ(letter.error_of({"-W", "true"}), "none");
  EXPECT_TRUE(letter.waits);
  EXPECT_EQ(letter.command, Words{"true"});
}

TEST(Options, ADurationAfterAnOptionalValueIsNotTakenForTheCommand) {
  const Sample sample;
  const std::string said = "--wait takes its value with an equals sign: --wait=10m";
  EXPECT_EQ(sample.error_of({"--wait", "10m", "--", "true"}), said);
  EXPECT_EQ(sample.error_of({"-W", "10m", "true"}), said);
  EXPECT_EQ(sample.error_of({"--wait", "--", "10m"}), "none");
}

TEST(Options, ASizeNeedsAUnit) {
  const Sample sample;
  const auto said = [](const std::string& meant) {
    return "--vram: a size needs a unit; did you mean " + meant + "?";
  };
  EXPECT_EQ(sample.error_of({"-m", "8"}), said("8G"));
  EXPECT_EQ(sample.error_of({"-m", "1.5"}), said("1.5G"));
  EXPECT_EQ(sample.error_of({"-m", "8192"}), said("8192M"));
  EXPECT_EQ(sample.error_of({"-m", "8589934592"}), said("8589934592B"));
  EXPECT_EQ(sample.error_of({"-m", "8589934592B"}), "none");
  EXPECT_EQ(sample.error_of({"-m", "0"}), "--vram: must be greater than 0");
}

TEST(Options, NamesThatOtherProgramsHaveAreUnderstood) {
  const Sample sample;
  EXPECT_EQ(sample.error_of({"--memory=8G"}), "unknown option --memory; did you mean --vram?");
  EXPECT_EQ(sample.error_of({"--mem", "8G"}), "unknown option --mem; did you mean --vram?");
  EXPECT_EQ(sample.error_of({"--timeout=1h"}), "unknown option --timeout");  // There is no --limit.
}

TEST(Options, TheCommandTakesAllThatFollowsIt) {
  Sample bare;
  ASSERT_EQ(bare.error_of({"-a", "ls", "-w", "--", "--all"}), "none");
  EXPECT_FALSE(bare.wide);
  EXPECT_EQ(bare.command, (Words{"ls", "-w", "--", "--all"}));

  Sample dashes;
  ASSERT_EQ(dashes.error_of({"--", "-odd", "--wait"}), "none");
  EXPECT_FALSE(dashes.waits);
  EXPECT_EQ(dashes.command, (Words{"-odd", "--wait"}));
}

TEST(Options, WhatIsWrongIsSaidWithTheCure) {
  const Sample sample("COMMAND");
  EXPECT_EQ(sample.error_of({"--vrma=8G"}), "unknown option --vrma; did you mean --vram?");
  EXPECT_EQ(sample.error_of({"-z"}), "unknown option -z");
  EXPECT_EQ(sample.error_of({"--vram"}), "--vram needs a value: SIZE");
  EXPECT_EQ(sample.error_of({"--all=yes"}), "--all takes no value");
  EXPECT_EQ(sample.error_of({"--order=fiar", "x"}),
            "--order: \"fiar\" is not one of fifo, fair, priority; did you mean \"fair\"?");
  EXPECT_EQ(sample.error_of({}), "missing COMMAND (what to run)");
  EXPECT_EQ(sample.error_of({"--"}), "missing COMMAND (what to run)");
  EXPECT_NE(sample.error_of({"--vram=-8G", "x"}).find("--vram: "), std::string::npos);
}

TEST(Options, OperandsMayStandBetweenOptions) {
  Options options;
  Words leases;
  bool kill = false;
  options.add("--kill", store(kill), "kill");
  options.operand("FIRST", store(leases), "which");
  options.operand("[SECOND]", store(leases), "and which");
  ASSERT_TRUE(options.parse({"7", "--kill", "8"}).ok());
  EXPECT_TRUE(kill);
  EXPECT_EQ(leases, (Words{"7", "8"}));
  const Status third = options.parse({"7", "8", "9"});
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().message, "unexpected \"9\"");
}

}  // namespace
}  // namespace berth::cli
