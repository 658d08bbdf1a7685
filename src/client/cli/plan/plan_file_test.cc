// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan good(const std::string& text) {
  auto plan = parse_plan("berth.toml", text);
  const auto* problems = std::get_if<config::Problems>(&plan);
  EXPECT_EQ(problems, nullptr) << to_text(problems->front());
  return problems == nullptr ? std::move(std::get<Plan>(plan)) : Plan{};
}

std::vector<std::string> problems_of(const std::string& text) {
  auto plan = parse_plan("berth.toml", text);
  std::vector<std::string> all;
  if (const auto* problems = std::get_if<config::Problems>(&plan)) {
    for (const config::Problem& problem : *problems) all.push_back(to_text(problem));
  }
  return all;
}

std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedSession& session : plan.sessions) names.push_back(session.name);
  return names;
}

TEST(PlanFile, KeysAreTheOptionsOfSubmit) {
  const Plan plan = good(R"(
[session.trainer]
command = ["python", "train.py", "--lr", "1e-3"]
vram = "8GiB"
tier = "complex"
eta = "2h"
checkpoint = "signal:USR1,file=out/*.pt"
yield = true
requeue = false
grid = ["lr=1,2", "width=3,4"]
max-running = 2
gpus = [0, 1]
)");
  ASSERT_EQ(plan.sessions.size(), 1U);
  const PlannedSession& trainer = plan.sessions[0];
  EXPECT_EQ(trainer.name, "trainer");
  EXPECT_THAT(trainer.command, ElementsAre("python", "train.py", "--lr", "1e-3"));
  EXPECT_THAT(trainer.options,
              ElementsAre("--vram=8GiB", "--tier=complex", "--eta=2h",
                          "--checkpoint=signal:USR1,file=out/*.pt", "--yield", "--grid=lr=1,2",
                          "--grid=width=3,4", "--max-running=2", "--gpus=0,1"));
}

TEST(PlanFile, ACommandThatIsTextIsALineForTheShell) {
  const Plan plan = good("[session.a]\ncommand = \"cd x && make\"\nvram = \"1G\"");
  EXPECT_THAT(plan.sessions.at(0).command, ElementsAre("sh", "-c", "cd x && make"));
}

TEST(PlanFile, SessionsComeBehindThoseThatTheyAreAfter) {
  const Plan plan = good(R"(
[session.c]
command = "c"
after-ok = ["b", "a"]
[session.b]
command = "b"
after = "a"
[session.a]
command = "a"
)");
  EXPECT_THAT(names_of(plan), ElementsAre("a", "b", "c"));
  EXPECT_THAT(plan.find("c")->after, ElementsAre(PlannedSession::After{"b", Ends::kOk},
                                                 PlannedSession::After{"a", Ends::kOk}));
  EXPECT_EQ(plan.find("b")->after.at(0).ends, Ends::kAny);
}

TEST(PlanFile, CirclesAreToldWithTheirWay) {
  EXPECT_THAT(problems_of("[session.x]\ncommand = \"x\"\n[session.a]\ncommand = \"a\"\n"
                          "after = \"b\"\n[session.b]\ncommand = \"b\"\nafter = \"c\"\n"
                          "[session.c]\ncommand = \"c\"\nafter-ok = [\"x\", \"a\"]\n"),
              ElementsAre("berth.toml:3:10: session.a: none of them could start: a after b after "
                          "c after a"));
  EXPECT_THAT(problems_of("[session.a]\ncommand = \"a\"\nafter = \"a\""),
              ElementsAre(HasSubstr("none of them could start: a after a")));
}

TEST(PlanFile, APredecessorThatIsNotThereIsTold) {
  EXPECT_THAT(problems_of("[session.prepare]\ncommand = \"a\"\n[session.b]\ncommand = \"b\"\n"
                          "after = \"prepar\""),
              ElementsAre("berth.toml:5:9: session.b: there is no session 'prepar' to come after; "
                          "did you mean \"prepare\"?"));
}

TEST(PlanFile, ValuesAreLookedAtAsOptionsAre) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"vram = \"1\"", "3:8: session.a.vram: a size needs a unit; did you mean 1G?"},
      {"vram = \"8Q\"", "3:8: session.a.vram: "},
      {"vram = [\"8G\"]", "session.a.vram: must be text, as --vram takes it, not a list"},
      {"vram = \"0\"", "session.a.vram: must be greater than 0"},
      {"share = \"budgt\"", "session.a.share: \"budgt\" is not one of budget, exclusive, slice"},
      {"yield = 1", "session.a.yield: must be true or false, not 1"},
      {"vram = \"1G\"\nexclusive = true", "1:10: session.a: a whole GPU comes with all of its"},
      {"grid = \"lr\"", "1:10: session.a: "},
      {"after = 1", "session.a.after: must be the name of a session, or a list of names, not 1"},
      {"command = \"y\"", "is no valid TOML"}};
  for (const auto& [line, message] : cases) {
    EXPECT_THAT(problems_of("[session.a]\ncommand = \"x\"\n" + line),
                ElementsAre(HasSubstr(message)));
  }
}

TEST(PlanFile, UnknownKeysAreToldWithWhatWasMeant) {
  EXPECT_THAT(problems_of("[session.a]\ncommand = \"x\"\nmemory = \"1G\"\ntire = \"x\"\n"
                          "nonsense = 1\ndry-run = true\nname = \"b\""),
              ElementsAre("berth.toml:3:1: session.a.memory: there is no such key; did you mean "
                          "\"vram\"?",
                          "berth.toml:4:1: session.a.tire: there is no such key; did you mean "
                          "\"tier\"?",
                          "berth.toml:5:1: session.a.nonsense: there is no such key",
                          "berth.toml:6:1: session.a.dry-run: a plan cannot say this",
                          "berth.toml:7:1: session.a.name: a plan cannot say this"));
}

TEST(PlanFile, ASessionHasACommandAndAName) {
  EXPECT_THAT(problems_of("[session.a]\nvram = \"1G\""),
              ElementsAre("berth.toml:1:10: session.a: has no `command`, which says what is run"));
  EXPECT_THAT(problems_of("[session.a]\ncommand = []"), ElementsAre(HasSubstr("must be a line")));
  EXPECT_THAT(problems_of("[session.a]\ncommand = \" \""), ElementsAre(HasSubstr("a line for sh")));
  EXPECT_THAT(problems_of("[session.a]\ncommand = [1]"), ElementsAre(HasSubstr("1 is in it")));
  EXPECT_THAT(problems_of("[session.\"a b\"]\ncommand = \"x\""),
              ElementsAre(HasSubstr("a session's name has letters")));
  EXPECT_THAT(problems_of("[session.1a]\ncommand = \"x\""),
              ElementsAre(HasSubstr("begins with no digit")));
}

TEST(PlanFile, OtherSectionsAndNoneAreTold) {
  EXPECT_THAT(problems_of("[policy]\norder = \"fifo\""),
              ElementsAre("berth.toml:1:2: policy: a plan has sections [session.NAME] and nothing "
                          "else"));
  EXPECT_THAT(problems_of("session = 1"), ElementsAre(HasSubstr("sections [session.NAME]")));
  EXPECT_THAT(problems_of("session.a = 1"), ElementsAre(HasSubstr("write [session.a]")));
  EXPECT_THAT(problems_of(""), ElementsAre(HasSubstr("there is no session: write [session.NAME]")));
}

TEST(PlanFile, SessionsAndProblemsHaveABound) {
  std::string many;
  for (std::size_t i = 0; i <= kPlanSessionsMax; ++i) {
    many += "[session.s" + std::to_string(i) + "]\ncommand = \"x\"\n";
  }
  EXPECT_THAT(problems_of(many), ElementsAre(HasSubstr("more than 256 sessions")));
  std::string wrong = "[session.a]\ncommand = \"x\"\n";
  for (int i = 0; i < 40; ++i) wrong += "k" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(problems_of(wrong).size(), 20U);
}

TEST(PlanFile, AnotherDefinitionHasAnotherFingerprint) {
  const auto fingerprint = [](const std::string& lines) {
    return good("[session.b]\ncommand = \"b\"\n[session.a]\n" + lines).find("a")->fingerprint();
  };
  const std::string one = fingerprint("command = \"x\"\nvram = \"1G\"\neta = \"1h\"");
  EXPECT_EQ(one,
            fingerprint("eta = \"1h\"\nvram = \"1G\"\ncommand = \"x\" # The order is nothing."));
  for (const char* other :
       {"command = \"y\"\nvram = \"1G\"\neta = \"1h\"",
        "command = \"x\"\nvram = \"2G\"\neta = \"1h\"", "command = \"x\"\nvram = \"1G\"",
        "command = \"x\"\nvram = \"1G\"\neta = \"1h\"\nafter = \"b\""}) {
    EXPECT_NE(one, fingerprint(other)) << other;
  }
}

}  // namespace
}  // namespace berth::cli
