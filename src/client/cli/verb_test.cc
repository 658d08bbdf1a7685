// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/candidates.h"
#include "cli/help.h"

namespace berth::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

// Runs a verb for its declarations alone.
Invocation described(const Verb& verb) {
  Invocation invocation{.verb = verb, .describing = true};
  EXPECT_EQ(verb.run(invocation), 0) << verb.name;
  return invocation;
}

TEST(Verbs, EachNameMeansOneVerb) {
  std::set<std::string_view> names;
  for (const Verb& verb : verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    EXPECT_TRUE(verb.alias.empty() || names.insert(verb.alias).second) << verb.alias;
    EXPECT_EQ(find_verb(verb.name), &verb);
    EXPECT_FALSE(verb.summary.empty() || verb.group.empty());
  }
  EXPECT_EQ(find_verb("q"), find_verb("queue"));
  EXPECT_EQ(find_verb("stat"), nullptr);
}

TEST(Verbs, EachOptionMeansOneThingAndIsExplained) {
  for (const Verb& verb : verbs()) {
    const Invocation invocation = described(verb);
    std::set<std::string> names;
    for (const Option& option : invocation.options.all()) {
      SCOPED_TRACE(std::string(verb.name) + " " + std::string(option.names));
      EXPECT_EQ(option.metavar.empty(), option.value == Option::Value::kNone);
      if (!option.long_name().empty()) {
        EXPECT_TRUE(names.insert(std::string(option.long_name())).second);
      }
      if (const auto letter = option.letter()) {
        EXPECT_TRUE(names.insert(std::string{'-', *letter}).second);
      }
    }
    EXPECT_TRUE(names.contains("help") && names.contains("color"));
  }
}

TEST(Verbs, HelpNamesEachOptionAndFitsTheWidth) {
  for (const Verb& verb : verbs()) {
    const Invocation invocation = described(verb);
    const std::string help = verb_help(invocation, 80);
    for (const Option& option : invocation.options.all()) {
      EXPECT_EQ(help.find(option.shown()) == std::string::npos, option.hidden())
          << verb.name << option.names;
    }
    for (const Example& example : invocation.examples) {
      EXPECT_TRUE(std::string_view(example.line).find("berth") != std::string::npos);
    }
  }
  for (const Verb& verb : verbs()) {
    EXPECT_NE(overview(80).find(verb.summary.substr(0, 20)), std::string::npos) << verb.name;
  }
}

Words words_at(const Words& line) {
  Words words;
  const auto leases = [] { return std::vector<Candidate>{{"7", ""}, {"train", ""}}; };
  for (const Candidate& candidate : find_candidates(line, leases).words) {
    words.push_back(candidate.word);
  }
  return words;
}

TEST(Candidates, VerbsThenTheirOptionsAndOperands) {
  EXPECT_THAT(words_at({"sta"}), ElementsAre("status"));
  EXPECT_THAT(words_at({"help", "sta"}), ElementsAre("status"));
  EXPECT_THAT(words_at({"--color=never", "sta"}), ElementsAre("status"));
  EXPECT_THAT(words_at({"ps", "--wa"}), ElementsAre("--watch"));
  EXPECT_THAT(words_at({"show", "t"}), ElementsAre("train"));
  EXPECT_THAT(words_at({"show", "train", "@"}), ElementsAre("@last", "@mine", "@failed"));
  EXPECT_THAT(words_at({"frobnicate", ""}), IsEmpty());
  EXPECT_THAT(words_at({}), IsEmpty());
}

TEST(Candidates, ValuesOfTheOptionBeforeTheCursor) {
  EXPECT_THAT(words_at({"ps", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(words_at({"ps", "--output", "j"}), ElementsAre("json"));
  EXPECT_THAT(words_at({"ps", "--output=j"}), ElementsAre("--output=json"));
  EXPECT_THAT(words_at({"ps", "--fields", ""}), IsEmpty());
  // An optional value stands behind `=` only.
  EXPECT_THAT(words_at({"show", "--watch", "tr"}), ElementsAre("train"));
}

TEST(Candidates, ACommandCompletesItselfFromWhereItBegins) {
  const auto none = [] { return std::vector<Candidate>(); };
  EXPECT_EQ(find_candidates({"run", "-m", "8G", ""}, none).command_begin, 3U);
  EXPECT_EQ(find_candidates({"run", "-m", "8G", "python", "--x"}, none).command_begin, 3U);
  EXPECT_EQ(find_candidates({"run", "--", "python", ""}, none).command_begin, 2U);
  EXPECT_THAT(words_at({"run", "--n"}), Not(IsEmpty()));
  EXPECT_THAT(words_at({"run", "ls", "--n"}), IsEmpty());
}

}  // namespace
}  // namespace berth::cli
