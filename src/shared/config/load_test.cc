// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr DeviceId kCard = {.high = 0x5a1c0d2e00000000, .low = 1};

File machine(std::string text) {
  return {.kind = File::Kind::kMachine, .path = "/etc/berth/berth.toml", .text = std::move(text)};
}
File user(std::string text) {
  return {.kind = File::Kind::kUser, .path = "config.toml", .text = std::move(text)};
}
File project(std::string text) {
  return {.kind = File::Kind::kProject, .path = ".berth.toml", .text = std::move(text)};
}

Loaded loaded(const Input& input) {
  auto result = load(input);
  if (const Problems* problems = std::get_if<Problems>(&result)) {
    for (const Problem& problem : *problems) ADD_FAILURE() << to_text(problem);
    return {};
  }
  return std::get<Loaded>(std::move(result));
}

std::vector<std::string> problems_of(const Input& input) {
  const auto result = load(input);
  std::vector<std::string> texts;
  if (const Problems* problems = std::get_if<Problems>(&result)) {
    for (const Problem& problem : *problems) texts.push_back(to_text(problem));
  }
  return texts;
}

TEST(Load, NothingGivesTheBuiltInValues) {
  const Config config = loaded({}).config;
  EXPECT_EQ(config.core.order, Order::kFair);
  EXPECT_EQ(config.policy.default_vram.kind, DefaultVram::Kind::kExclusive);
  EXPECT_EQ(config.core.reserve, mib(512));
  EXPECT_EQ(config.access.show_commands, ShowCommands::kOwn);
  EXPECT_THAT(config.origins, IsEmpty());
}

TEST(Load, SharedDaemonBoundsEachUserAndAnOwnOneDoesNot) {
  EXPECT_EQ(loaded({.mode = Mode::kSystem}).config.core.limits_default.waiting_max, 256U);
  EXPECT_EQ(loaded({.mode = Mode::kSystem}).config.core.limits_default.leases_max, 64U);
  EXPECT_GE(loaded({.mode = Mode::kUser}).config.core.limits_default.waiting_max, 10'000U);
  EXPECT_EQ(loaded({.mode = Mode::kSystem}).config.core.limits_default.priority_max,
            Priority::kNormal);
  EXPECT_EQ(loaded({.mode = Mode::kUser}).config.core.limits_default.priority_max,
            Priority::kUrgent);
}

constexpr std::string_view kEveryKey = R"(
[daemon]
state_dir = "/srv/berth"
log = "debug"
[gpu]
reserve = "1GiB"
context = "300MiB"
sample_interval = "500ms"
[gpu."GPU-5a1c0d2e-0000-0000-0000-000000000001"]
reserve = "2GiB"
[policy]
default_vram = "4GiB"
order = "priority"
backfill = false
pass_max = "5m"
aging = "1h"
claim_within = "10s"
exclusive_unmanaged_max = "0"
unmanaged = "ignore"
visible_devices = "uuid"
[access]
admins = ["ops", "@gpu"]
show_commands = "all"
[limits]
waiting = 10
leases = 2
connections = 20
event_streams = 30
requests_per_second = 40
requests_at_once = 50
[users.guest]
vram = "12GiB"
leases = 1
max_priority = "low"
[users."1001"]
leases = 3
[tier]
night = {priority = "low", yield = true, idle = "5m", idle_action = "ask"}
[client]
color = "never"
output = "json"
)";

TEST(Load, EveryKeyIsRead) {
  const Config config = loaded({.files = {machine(std::string(kEveryKey))}}).config;
  EXPECT_EQ(config.daemon.state_dir, "/srv/berth");
  EXPECT_EQ(config.daemon.log, LogLevel::kDebug);
  EXPECT_EQ(config.core.reserve, gib(1));
  EXPECT_EQ(config.core.context_estimate, mib(300));
  EXPECT_EQ(config.gpu.sample_interval, milliseconds(500));
  EXPECT_THAT(config.core.device_reserve, ElementsAre(Pair(kCard, gib(2))));
  EXPECT_EQ(config.policy.default_vram,
            (DefaultVram{.kind = DefaultVram::Kind::kSize, .size = gib(4)}));
  EXPECT_EQ(config.core.order, Order::kPriority);
  EXPECT_FALSE(config.core.backfill);
  EXPECT_EQ(config.core.pass_max, minutes(5));
  EXPECT_EQ(config.core.aging, hours(1));
  EXPECT_EQ(config.core.claim_within, seconds(10));
  EXPECT_EQ(config.core.exclusive_unmanaged_max, Bytes{});
  EXPECT_EQ(config.core.unmanaged, Unmanaged::kIgnore);
  EXPECT_EQ(config.policy.visible_devices, VisibleDevices::kUuid);
  EXPECT_THAT(config.access.admins, ElementsAre("ops", "@gpu"));
  EXPECT_EQ(config.access.show_commands, ShowCommands::kAll);
  EXPECT_EQ(config.core.limits_default.waiting_max, 10U);
  EXPECT_EQ(config.core.limits_default.leases_max, 2U);
  EXPECT_EQ(config.limits.connections, 20U);
  EXPECT_EQ(config.limits.event_streams, 30U);
  EXPECT_EQ(config.limits.requests_per_second + config.limits.requests_at_once, 90U);
  EXPECT_EQ(config.users.at("guest").vram, gib(12));
  EXPECT_EQ(config.users.at("guest").leases, 1U);
  EXPECT_EQ(config.users.at("guest").max_priority, Priority::kLow);
  EXPECT_EQ(config.users.at("1001").leases, 3U);
  const core::Tier& night = config.core.tiers.at("night");
  EXPECT_EQ(night.priority, Priority::kLow);
  EXPECT_TRUE(night.may_yield && night.idle_max == minutes(5) &&
              night.idle_action == IdleAction::kAsk);
  EXPECT_EQ(config.client.color, Color::kNever);
  EXPECT_EQ(config.client.output, Output::kJson);
}

TEST(Load, HowBudgetsHoldIsRead) {
  const Config config = loaded({.files = {machine(R"(
[policy]
report_total = "physical"
report_nvml = "budget"
[enforce]
mode = "watchdog"
over_budget = "kill"
over_budget_grace = "5m"
over_budget_tolerance = "1GiB"
[pressure]
warn = "50%"
critical = "100%"
on_lease_critical = ["notify", "cleanup"]
on_device_critical = ["notify", "suspend@20s", "kill@2m"]
on_unmanaged = ["notify", "checkpoint@10s", "requeue"]
over_budget = ["notify", "kill@90s"]
cooldown = "30s"
)")}}).config;
  EXPECT_EQ(config.policy.report_total, Reported::kPhysical);
  EXPECT_EQ(config.policy.report_nvml, Reported::kBudget);
  EXPECT_EQ(config.enforce.mode, Enforce::kWatchdog);
  EXPECT_EQ(config.enforce.over_budget, OverBudget::kKill);
  EXPECT_EQ(config.core.over_budget.grace, minutes(5));
  EXPECT_EQ(config.core.over_budget.tolerance, gib(1));
  EXPECT_EQ(config.core.pressure.warn_percent, 50U);
  EXPECT_EQ(config.core.pressure.critical_percent, 100U);
  EXPECT_EQ(config.core.pressure.on_lease_critical,
            (Ladder{{Measure::kNotify}, {Measure::kCleanup}}));
  EXPECT_EQ(
      config.core.pressure.on_device_critical,
      (Ladder{{Measure::kNotify}, {Measure::kSuspend, seconds(20)}, {Measure::kKill, minutes(2)}}));
  EXPECT_EQ(config.core.pressure.on_unmanaged,
            (Ladder{{Measure::kNotify}, {Measure::kCheckpoint, seconds(10)}, {Measure::kRequeue}}));
  EXPECT_EQ(config.core.pressure.over_budget,
            (Ladder{{Measure::kNotify}, {Measure::kKill, seconds(90)}}));
  EXPECT_EQ(config.core.pressure.cooldown, seconds(30));
}

TEST(Load, WhatARequestWithoutASizeGets) {
  using Kind = DefaultVram::Kind;
  for (const auto& [word, kind] :
       {std::pair("exclusive", Kind::kExclusive), std::pair("ask", Kind::kAsk),
        std::pair("learned", Kind::kLearned)}) {
    const std::string line = "policy.default_vram = \"" + std::string(word) + "\"";
    EXPECT_EQ(loaded({.files = {user(line)}}).config.policy.default_vram.kind, kind) << word;
  }
}

TEST(Load, ProjectSetsDefaultsOfItsRequests) {
  const Config config = loaded({.files = {project(R"(
vram = "8G"
eta = "2h"
name = "gpt2"
labels = { team = "nlp" }
wait = "0s"
)")}}).config;
  EXPECT_EQ(config.request.vram, (DefaultVram{.kind = DefaultVram::Kind::kSize, .size = gib(8)}));
  EXPECT_EQ(config.request.eta, hours(2));
  EXPECT_EQ(config.request.name, "gpt2");
  EXPECT_THAT(config.request.labels, ElementsAre(Pair("team", "nlp")));
  EXPECT_EQ(config.request.wait, Duration{});
}

// Later layers win, value by value, and each value says where it comes from.
TEST(Load, LaterLayersWinAndAreNamed) {
  const Config config =
      loaded(
          {.files = {machine("[policy]\norder = \"fifo\"\naging = \"1m\"\n[client]\n"
                             "output = \"csv\"\ncolor = \"never\""),
                     {.kind = File::Kind::kMachine,
                      .path = "/etc/berth/conf.d/10-gpu.toml",
                      .text = "gpu.reserve = \"1GiB\"\npolicy.aging = \"2m\""},
                     user("client.output = \"json\"\nclient.color = \"always\""),
                     project("vram = \"1G\"\nname = \"p\"")},
           .overrides = {{Origin::Layer::kEnvironment, "request.vram", "2G", "BERTH_DEFAULT_VRAM"},
                         {Origin::Layer::kFlag, "client.color", "auto", "--color"}}})
          .config;
  EXPECT_EQ(config.core.order, Order::kFifo);
  EXPECT_EQ(config.core.aging, minutes(2));
  EXPECT_EQ(config.client.output, Output::kJson);
  EXPECT_EQ(config.client.color, Color::kAuto);
  EXPECT_EQ(config.request.vram->size, gib(2));
  const auto origin = [&](const std::string& key) { return to_text(config.origins.at(key)); };
  EXPECT_EQ(origin("policy.order"), "/etc/berth/berth.toml:2");
  EXPECT_EQ(origin("gpu.reserve"), "/etc/berth/conf.d/10-gpu.toml:1");
  EXPECT_EQ(origin("policy.aging"), "/etc/berth/conf.d/10-gpu.toml:2");
  EXPECT_EQ(origin("client.output"), "config.toml:1");
  EXPECT_EQ(origin("client.color"), "--color");
  EXPECT_EQ(origin("request.vram"), "BERTH_DEFAULT_VRAM");
  EXPECT_EQ(origin("request.name"), ".berth.toml:2");
  EXPECT_EQ(to_text(Origin{}), "built-in");
}

struct Wrong {
  std::string_view text;
  std::string_view problem;
};

TEST(Load, WrongValueIsToldWithItsPlaceAndWhatWouldBeRight) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"[policy]\norder = \"fast\"",
            "2:9: policy.order: must be \"fifo\", \"priority\", \"fair\" or \"value\", not 'fast'"},
           {"[policy]\norder = \"fiar\"", "did you mean 'fair'?"},
           {"[policy]\norder = 3",
            "policy.order: must be \"fifo\", \"priority\", \"fair\" or \"value\", not 3"},
           {"[policy]\nbackfill = \"yes\"",
            "2:12: policy.backfill: must be true or false, not 'yes'"},
           {"policy.pass_max = 5", "1:19: policy.pass_max: must be a duration such as"},
           {"policy.pass_max = \"-5m\"", "policy.pass_max: '-5m' is not a duration"},
           {"policy.pass_max = \"5 minuets\"", "'5 minuets' is not a duration"},
           {"policy.pass_max = \"200y\"", "is not a duration"},
           {"policy.pass_max = \"99999999d\"", "is too long"},
           {"policy.pass_max = \"0.1ms\"", "must be whole milliseconds"},
           {"policy.aging = \"0s\"", "policy.aging: must be at least 1 s, not '0s'"},
           {"policy.claim_within = \"1h\"", "policy.claim_within: must be at most 10m"},
           {"gpu.sample_interval = \"1ms\"", "gpu.sample_interval: must be at least 100 ms"},
           {"gpu.reserve = 512", "gpu.reserve: a size needs a unit; did you mean \"512G\"?"},
           {"gpu.reserve = -1", "not -1"},
           {"gpu.reserve = 1.5", "not a number with a fraction"},
           {"gpu.reserve = \"512\"", "gpu.reserve: a size needs a unit; did you mean \"512G\"?"},
           {"policy.default_vram = \"8\"",
            "default_vram: a size needs a unit; did you mean \"8G\"?"},
           {"gpu.reserve = \"-1GiB\"", "'-1GiB' is not a size"},
           {"gpu.reserve = \"9EiB\"", "'9EiB' is not a size"},
           {"gpu.reserve = \"99999999TiB\"", "is too large"},
           {"gpu.reserve = 1979-05-27", "not a date"},
           {"gpu.reserve = []", "not a list"},
           {"policy.default_vram = \"0GiB\"", "policy.default_vram: must be at least 1 B"},
           {"policy.default_vram = \"much\"",
            "must be \"exclusive\", \"ask\", \"learned\" or a size such as \"8GiB\", not 'much'"},
           {"limits.waiting = 0", "limits.waiting: must be a number from 1 to 20000, not 0"},
           {"limits.waiting = -1", "must be a number from 1 to 20000, not -1"},
           {"limits.waiting = 20001", "must be a number from 1 to 20000, not 20001"},
           {"limits.waiting = \"10\"", "must be a number from 1 to 20000, not '10'"},
           {"limits.waiting = ä", "is no valid TOML"},
           {"name = \"\"\"\\\nä", "is no valid TOML"},
           {"limits.waiting = 99999999999999999999", "is no valid TOML"},
           {"daemon.state_dir = \"berth\"", "must be an absolute path, or \"\", not 'berth'"},
           {"daemon.state_dir = \"/a\\u0007\"", "must not hold control characters"},
           {"access.admins = \"root\"", "access.admins: must be a list of text, not 'root'"},
           {"access.admins = [\"root\", 5]", "access.admins: must be a list of text; 5 is in it"},
           {"access.admins = [\"@\"]", "'@' is in it"},
           {"[users.guest]\nmax_priority = \"top\"", "2:16: users.guest.max_priority: must be"},
           {"[users.\"a b\"]\nleases = 0", "users.\"a b\".leases: must be a number from 1"},
           {"[tier.\"a b\"]\nyield = true", "tier.\"a b\": a tier's name has letters"},
           {"[tier.a]\nshared = \"slice\"", "tier.a.shared: there is no such key"},
           {"[alert.a]\nwhen = \"gpu.mem_used > 10\"",
            "2:8: alert.a.when: column 16: '10' should be a size with its unit"},
           {"[alert.a]\nrepeat = \"1m\"", "2:1: alert.a: has no `when`"},
           {"alert.a.when = 1", "alert.a.when: must be an expression such as"},
           {"[alert.\"a b\"]\nenabled = true", "alert.\"a b\": a rule's name has letters"},
           {"[alert.a]\nwhen = \"lease.ended\"\nseverity = \"bad\"",
            "alert.a.severity: must be \"info\", \"warn\" or \"critical\", not 'bad'"},
           {"policy = 3", "1:10: policy: is a section, not 3: write [policy]"},
           {"pressure.over_budget = \"suspend\"",
            "must be a list of measures such as [\"notify\", "},
           {"pressure.over_budget = [\"notify\", \"stop@30s\"]", "'stop' is no measure: notify"},
           {"pressure.on_lease_critical = [\"notify\", \"suspend\"]", "harms nobody: notify"},
           {"pressure.on_unmanaged = [\"notify\", \"kill@60s\"]", "no lease is ended for what"},
           {"pressure.cooldown = \"1s\"", "pressure.cooldown: must be at least 10 s"},
           {"gpu.card0.reserve = \"1GiB\"", "1:5: gpu.card0: is not the UUID of a GPU"},
       }) {
    EXPECT_THAT(problems_of({.files = {machine(std::string(wrong.text))}}),
                ElementsAre(AllOf(HasSubstr("/etc/berth/berth.toml:"), HasSubstr(wrong.problem))))
        << wrong.text;
  }
}

TEST(Load, RulesAddToThoseThatAreBuiltInAndChangeThem) {
  const auto result = load({.files = {machine(R"(
[alert.train-failed]
when = "lease.ended result=failed name=train*"
severity = "critical"
repeat = "0s"
terminal = true
[alert.gpu-high]
enabled = false
)")}});
  ASSERT_TRUE(std::holds_alternative<Loaded>(result));
  const auto& alerts = std::get<Loaded>(result).config.alerts;
  ASSERT_EQ(alerts.size(), 4);
  const AlertRule& failed = alerts.at("train-failed");
  EXPECT_EQ(to_text(*failed.when), "lease.ended name=train* result=failed");
  EXPECT_EQ(failed.severity, Severity::kCritical);
  EXPECT_EQ(failed.repeat, Duration{});
  EXPECT_TRUE(failed.terminal);
  EXPECT_FALSE(alerts.at("gpu-high").enabled);
  EXPECT_EQ(to_text(*alerts.at("gpu-high").when), "gpu.mem_used > 62% for 10s clear 55%");
  EXPECT_EQ(to_text(*alerts.at("gpu-critical").when), "gpu.mem_used > 88% for 10s clear 80%");
  EXPECT_EQ(to_text(*alerts.at("out-of-memory").when), "lease.refused");
}

TEST(Load, TooManyRulesAreAnError) {
  std::string text;
  for (std::size_t i = 0; i < kAlertsMax; ++i) {
    text += "[alert.a" + std::to_string(i) + "]\nwhen = \"gpu.lost\"\n";
  }
  const auto problems = problems_of({.files = {machine(text)}});
  ASSERT_EQ(problems.size(), 3);  // Three are built in.
  EXPECT_THAT(problems[0], HasSubstr("more than 64 rules"));
}

TEST(Load, UnknownKeyIsAnErrorWithTheOneThatWasMeant) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"[policy]\nordre = \"fifo\"",
            "2:1: policy.ordre: there is no such key; did you mean 'order'?"},
           {"[polcy]\norder = \"fifo\"",
            "1:2: polcy: there is no such key; did you mean 'policy'?"},
           {"order = \"fifo\"", "order: there is no such key; did you mean 'policy.order'?"},
           {"[gpu]\nreserv = \"1G\"", "gpu.reserv: there is no such key; did you mean 'reserve'?"},
           {"[gpu.\"GPU-5a1c0d2e-0000-0000-0000-000000000001\"]\nreserves = \"1G\"",
            ".reserves: there is no such key; did you mean 'reserve'?"},
           {"[users.guest]\njobs = 2", "users.guest.jobs: there is no such key"},
           {"users.guest = 2", "users.guest: there is no such key"},
           {"[alerts]\nwarn = \"62%\"", "alerts: there is no such key"},
           {"[policy]\norder.first = 1", "policy.order: must be"},
           {"[empty_and_unknown]", "empty_and_unknown: there is no such key"},
           {"[request]\nvram = \"8G\"", "request: belongs into the .berth.toml of a project"},
       }) {
    EXPECT_THAT(problems_of({.files = {user(std::string(wrong.text))}}),
                ElementsAre(HasSubstr(wrong.problem)))
        << wrong.text;
  }
}

TEST(Load, WhatIsNoTomlIsToldWithItsPlace) {
  for (const std::string& text :
       {std::string("[policy\norder = 1"), std::string("a = 1\na = 2"), std::string("= 3"),
        std::string("a = \"\xFF\""), std::string("a = 'x"), std::string("[a]\n[a]"),
        std::string("a = {b = 1"), std::string("\0", 1), "a = " + std::string(5'000, '[')}) {
    EXPECT_THAT(problems_of({.files = {machine(text)}}),
                ElementsAre(AllOf(HasSubstr("/etc/berth/berth.toml:"), HasSubstr("no valid TOML"))))
        << text.substr(0, 20);
  }
  EXPECT_THAT(problems_of({.files = {machine(std::string(kFileMax + 1, '\n'))}}),
              ElementsAre(HasSubstr("more than 262144 bytes")));
}

TEST(Load, LettersOutsideOfTextsAreRefusedAndThoseInsideAreTaken) {
  for (const std::string_view text :
       {"é = 1", "a = 1 é", "a = \xEF\xBB\xB7", "a = 0\"1.θ\"", "a = 0[\"é\"]", "a = 1.\"é\"",
        "a = \"\\é\"", "\x94", "a = \"\"\"\n\\\n é"}) {
    EXPECT_THAT(problems_of({.files = {project(std::string(text))}}),
                ElementsAre(AllOf(HasSubstr(".berth.toml:"), HasSubstr("is no valid TOML"))))
        << text;
  }
  const auto request = [](const std::string& text) {
    return loaded({.files = {project(text)}}).config.request;
  };
  EXPECT_EQ(request("\xEF\xBB\xBF# \"é\nname = 'ü \"' # é").name, "ü \"");
  EXPECT_THAT(request("labels = { \"é\" = \"1\", \"ü\" = \"\\u00e9\" }").labels,
              ElementsAre(Pair("é", "1"), Pair("ü", "é")));
}

TEST(Load, ErrorInOneFileTakesNoValueOfAny) {
  const Input input = {.files = {machine("policy.order = \"fifo\""), user("client.color = 1")}};
  EXPECT_THAT(problems_of(input), ElementsAre(HasSubstr("config.toml:1:16: client.color")));
}

TEST(Load, ProblemsAreToldInOrderAndNotWithoutEnd) {
  EXPECT_THAT(problems_of({.files = {machine("zebra = 1\nant = 1\n[limits]\nwaiting = 0")}}),
              ElementsAre(HasSubstr(":1:1: zebra"), HasSubstr(":2:1: ant"), HasSubstr(":4:11:")));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "k" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(problems_of({.files = {machine(many)}}).size(), kProblemsMax);
}

TEST(Load, ProjectMaySetNothingElse) {
  const Loaded result = loaded({.files = {project(R"(
vram = "8G"
vrma = "8G"
[policy]
order = "fifo"
[daemon]
state_dir = "/tmp/evil"
)")}});
  std::vector<std::string> ignored;
  for (const Problem& problem : result.notes) ignored.push_back(to_text(problem));
  EXPECT_THAT(ignored, ElementsAre(AllOf(HasSubstr(".berth.toml:3:1: vrma: ignored"),
                                         HasSubstr("did you mean 'vram'?")),
                                   HasSubstr(".berth.toml:4:2: policy: ignored"),
                                   HasSubstr(".berth.toml:6:2: daemon: ignored")));
  EXPECT_EQ(result.config.core.order, Order::kFair);
  EXPECT_EQ(result.config.daemon.state_dir, "");
  EXPECT_EQ(result.config.request.vram->size, gib(8));
}

TEST(Load, WrongValueOfAProjectIsAnError) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"vram = \"lots\"", ".berth.toml:1:8: vram: must be"},
           {"eta = \"0s\"", "eta: must be at least 1 ms"},
           {"labels = [\"a\"]", "labels: must be a table of text, not a list"},
           {"labels = { a = 1 }", "labels: must be a table of text; 1 is in it"},
           {"name = \"a\\tb\"", "name: must not hold control characters"},
       }) {
    EXPECT_THAT(problems_of({.files = {project(std::string(wrong.text))}}),
                ElementsAre(HasSubstr(wrong.problem)))
        << wrong.text;
  }
  const std::string long_name = "name = \"" + std::string(65, 'n') + "\"";
  EXPECT_THAT(problems_of({.files = {project(long_name)}}),
              ElementsAre(HasSubstr("name: must have at most 64 bytes")));
}

TEST(Environment, VariablesBecomeValues) {
  const auto overrides = overrides_of_environment({{"BERTH_LOG", "debug"},
                                                   {"BERTH_FORMAT", "json"},
                                                   {"BERTH_DEFAULT_VRAM", "2G"},
                                                   {"NO_COLOR", "1"},
                                                   {"CLICOLOR_FORCE", "1"},
                                                   {"PATH", "/bin"}});
  const Config config = loaded({.overrides = overrides}).config;
  EXPECT_EQ(config.daemon.log, LogLevel::kDebug);
  EXPECT_EQ(config.client.output, Output::kJson);
  EXPECT_EQ(config.request.vram->size, gib(2));
  EXPECT_EQ(config.client.color, Color::kNever);
  EXPECT_EQ(config.origins.at("client.color").where, "NO_COLOR");
}

TEST(Environment, ForcedColourIsForcedAndEmptyVariablesAreNotSet) {
  const auto color = [](const std::map<std::string, std::string>& environment) {
    return loaded({.overrides = overrides_of_environment(environment)}).config.client.color;
  };
  EXPECT_EQ(color({{"CLICOLOR_FORCE", "1"}}), Color::kAlways);
  EXPECT_EQ(color({{"CLICOLOR_FORCE", "0"}}), Color::kAuto);
  EXPECT_EQ(color({{"NO_COLOR", ""}, {"CLICOLOR_FORCE", ""}}), Color::kAuto);
  EXPECT_THAT(overrides_of_environment({{"BERTH_LOG", ""}}), IsEmpty());
}

TEST(Environment, WrongValueNamesItsVariable) {
  const auto overrides = overrides_of_environment({{"BERTH_FORMAT", "jsn"}});
  EXPECT_THAT(problems_of({.overrides = overrides}),
              ElementsAre(AllOf(HasSubstr("BERTH_FORMAT: must be \"table\", \"wide\""),
                                HasSubstr("did you mean 'json'?"))));
}

TEST(Overrides, AreReadAsText) {
  const auto with = [](const std::string& key, const std::string& text) {
    return Input{.overrides = {{Origin::Layer::kFlag, key, text, "--set"}}};
  };
  EXPECT_EQ(loaded(with("limits.leases", "7")).config.core.limits_default.leases_max, 7U);
  EXPECT_FALSE(loaded(with("policy.backfill", "false")).config.core.backfill);
  for (const auto& [key, text] : std::map<std::string, std::string>{{"limits.leases", "7x"},
                                                                    {"policy.backfill", "maybe"},
                                                                    {"access.admins", "root"},
                                                                    {"no.such", "1"}}) {
    EXPECT_THAT(problems_of(with(key, text)), ElementsAre(HasSubstr("--set: "))) << key;
  }
}

}  // namespace
}  // namespace berth::config
