// SPDX-License-Identifier: Apache-2.0
#include "cli/top/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/top/draw.h"
#include "cli/top/sample_for_test.h"
#include "cli/top/screen_for_test.h"

namespace berth::cli::top {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class TopTree : public TopScreen {
 protected:
  TopTree() {
    snapshot_ = sample::snapshot();
    snapshot_.status.leases[1].members = {{4'013, 0}, {4'014, 0}, {4'015, 0}};
    snapshot_.status.leases[1].command = Process{4'012, 9};
    state_.take(snapshot_);
    state_.take(told());
    state_.choose({12});
    press("t");
  }
  // Of 12: python, a shell below it with a worker, and another worker.
  static std::vector<ProcessFacts> told() {
    const auto process = [](std::int32_t pid, std::int32_t parent, const char* name) {
      return ProcessFacts{.pid = pid,
                          .lease = {12},
                          .user = cli::sample::kMe,
                          .name = name,
                          .command = std::string(name) + " --of 12",
                          .parent = parent};
    };
    std::vector<ProcessFacts> all = {process(4'012, 0, "python"), process(4'013, 4'012, "sh"),
                                     process(4'014, 4'013, "worker"),
                                     process(4'015, 4'012, "worker")};
    all[0].uses = {{sample::kFirst, sample::tenths_of_gib(58)}};
    all[2].uses = {{sample::kFirst, gib(3)}, {sample::kSecond, gib(1)}};
    return all;
  }
  std::vector<std::string> labels() const {
    std::vector<std::string> found;
    for (const TreeLine& line : tree_of(state_, look_.context)) {
      if (const auto* lease = std::get_if<const LeaseView*>(&line.line)) {
        found.push_back(to_text((*lease)->id));
      } else if (const auto* process = std::get_if<ProcessRow>(&line.line)) {
        found.push_back(process->label);
      }
    }
    return found;
  }

  wire::LiveSnapshot snapshot_;
};

TEST_F(TopTree, EightyColumns) {
  EXPECT_EQ(screen(80, 30), R"(
 berth  workbench  13:15:00            36.0 GiB free  4 held  2 wait  ▲ 1 alert
 GPU 0  RTX 5080  87 % busy  61 °C  238 W   used 12.3  granted 14.0 of 15.9 GiB
 ▕█████████████████████████████████░░░░███████░░░▓·····▏  1.4 GiB free to grant
 mem 1 h                             ▇  busy                                 ▇
 GPU 1  H100 PCIe  throttled: thermal       used 40.8  granted 44.0 of 79.6 GiB
 ▕████████████████████░███████░▒·······················▏ 34.6 GiB free to grant
 mem 1 h                             ▅  busy                                 ▅
  ID  SESSION          STATE          GPU  GiB used/peak/granted    AGE     LEFT
  11  me/notebook-ft   suspended      1        – /  0.3 / 14.0    1h18m        –
      └ 4011 me                                –
› 12  me/hybrid-train  held           0      9.8 / 10.1 / 11.0    1h02m  ~14 min
      └ 4012 me        python         0      5.8
        ├ 4013 me      sh                      –
        │ └ 4014 me    worker         0,1    4.0
        └ 4015 me      worker                  –
  13  me/notebook      held, idle 9m  0      2.1 /  2.4 /  3.0      12m        –
  15  guest/vllm-qwen  held           1     30.6 / 30.9 / 32.0    4h12m        –
      └ 4015 guest                             –
  19  me/eval-llama    held           1     10.2 / 10.5 / 12.0      22m        –
      └ 4019 me                                –
      GPU 0            unmanaged      0      0.4
      └ 900 me         firefox        0      0.4
─ Queue 2 ──────────────────────────────────────────────────────────────────────
  21  me/finetune-8b  24.0 GiB on any GPU  6m
  22  guest/sd-xl     6.0 GiB on any GPU   6m
─ Events ───────────────────────────────────────────────────────────────────────
 13:14:00  checkpoint 19 me/eval-llama by you
 13:03:00  grant 13 me/notebook: 3.0 GiB on GPU 0
 Processes below their leases.
 p pause  r resume  s save  x end  m message  w why  / find  ? all  q quit
)");
}

TEST_F(TopTree, SixtyColumnsOfAsciiAlone) {
  look_.context.charset.unicode = false;
  EXPECT_EQ(screen(60, 30), R"(
 berth  workbench  13:15:00       36.0 GiB free   ! 1 alert
 GPU 0  RTX 5080  61 C  used 12.3  granted 14.0 of 15.9 GiB
 [####################---####--x...]  1.4 GiB free to grant
 GPU 1  H100 PCIe       used 40.8  granted 44.0 of 79.6 GiB
 [#################-=..............] 34.6 GiB free to grant
  ID  SESSION           STATE          GiB used/peak/granted
  11  me/notebook-ft    suspended          - /  0.3 / 14.0
      `- 4011 me                           -
> 12  me/hybrid-train   held             9.8 / 10.1 / 11.0
      `- 4012 me        python           5.8
         |- 4013 me     sh                 -
         |  `- 4014 me  worker           4.0
         `- 4015 me     worker             -
  13  me/notebook       held, idle 9m    2.1 /  2.4 /  3.0
  15  guest/vllm-qwen   held            30.6 / 30.9 / 32.0
      `- 4015 guest                        -
  19  me/eval-llama     held            10.2 / 10.5 / 12.0
      `- 4019 me                           -
      GPU 0             unmanaged        0.4
      `- 900 me         firefox          0.4
- Queue 2 --------------------------------------------------
  21  me/finetune-8b  24.0 GiB on any GPU  6m
  22  guest/sd-xl     6.0 GiB on any GPU   6m
- Events ---------------------------------------------------
 13:14:00  checkpoint 19 me/eval-llama by you
 13:03:00  grant 13 me/notebook: 3.0 GiB on GPU 0


 Processes below their leases.
 p pause  r resume  x end  w why  / find  ? all  q quit
)");
}

TEST_F(TopTree, CommandsWhereThereIsRoom) {
  EXPECT_EQ(part(frame(120, 26), 24, 120), R"(
:00                              36.0 GiB free to grant  4 held  1 suspended  2 wait  ▲ 1 alert
usy  61 °C  238 of 360 W                                    used 12.3  granted 14.0 of 15.9 GiB
███████████████████████████████████░░░░░░░█████████████░░░░░▓▓▒········▏  1.4 GiB free to grant
                                 ▇  busy                                                     ▇
tled: thermal  52 % busy  91 °C  291 W                      used 40.8  granted 44.0 of 79.6 GiB
██████████████░████████████░░▒▒········································▏ 34.6 GiB free to grant
                                 ▅  busy                                                     ▅
TATE          GPU  GiB used/peak/granted  BUSY    AGE     LEFT  COMMAND
uspended      1        – /  0.3 / 14.0          1h18m        –  python notebook-ft.py
                       –
eld           0      9.8 / 10.1 / 11.0    85 %  1h02m  ~14 min  python hybrid-train.py
ython         0      5.8                                        python --of 12
h                      –                                        sh --of 12
orker         0,1    4.0                                        worker --of 12
orker                  –                                        worker --of 12
eld, idle 9m  0      2.1 /  2.4 /  3.0     0 %    12m        –
eld           1     30.6 / 30.9 / 32.0    40 %  4h12m        –  python vllm-qwen.py
                       –
eld           1     10.2 / 10.5 / 12.0    12 %    22m        –  python eval-llama.py
────────────────────────────────────────────────────────────────────────────────────────────────
.0 GiB on any GPU  6m
0 GiB on any GPU   6m
────────────────────────────────────────────────────────────────────────────────────────────────
 me/eval-llama by you
eases.
 r resume  s save  x end  m message  w why  t tree  v timeline  / find  ? all  q quit
)");
}

TEST_F(TopTree, BesideTheQueueAndAboveTheTimeline) {
  EXPECT_EQ(part(frame(200, 30), 32, 128), R"(

°C  238 of 360 W
█████████████████████████████████████████████████████████████████████████████░░░░░░░░░░░░░██████
                                                                 ▇  busy
ermal  52 % busy  91 °C  291 W
█████████████████████████████████████░░░██████████████████████░░░░▒▒····························
                                                                 ▅  busy
      GPU  GiB used/peak/granted  BUSY    AGE     LEFT  COMMAND
      1        – /  0.3 / 14.0          1h18m        –  python notebook-ft.py
               –
      0      9.8 / 10.1 / 11.0    85 %  1h02m  ~14 min  python hybrid-train.py
      0      5.8                                        python --of 12
               –                                        sh --of 12
      0,1    4.0                                        worker --of 12
               –                                        worker --of 12
e 9m  0      2.1 /  2.4 /  3.0     0 %    12m        –
      1     30.6 / 30.9 / 32.0    40 %  4h12m        –  python vllm-qwen.py
               –
      1     10.2 / 10.5 / 12.0    12 %    22m        –  python eval-llama.py
               –
      0      0.4
      0      0.4                                        firefox
00 ─────────── 12:30 ─────────── 13:00  now 13:15  13:30 ─────────── 14:00 ───────────  1 to 5 o
███████████████████████████████████████████‖│
      ██████████████████████████████████████│░░░░░░░
                                     ███████│······
████████████████████████████████████████████│······
                               █████████████│······

use  r resume  s save  x end  m message  w why  t tree  v timeline  o sort  u mine  g GPU  Space
)");
}

TEST_F(TopTree, ChildrenStandBelowTheirParents) {
  EXPECT_THAT(labels(), ElementsAre("11", "└ 4011 me", "12", "└ 4012 me", "  ├ 4013 me",
                                    "  │ └ 4014 me", "  └ 4015 me", "13", "15", "└ 4015 guest",
                                    "19", "└ 4019 me", "GPU 0", "└ 900 me"));
}

TEST_F(TopTree, WithoutParentsItIsAListBelowItsLease) {
  std::vector<ProcessFacts> flat = told();
  for (ProcessFacts& process : flat) process.parent = 0;
  state_.take(flat);
  EXPECT_THAT(screen(100, 40), HasSubstr("├ 4012 me"));
  EXPECT_THAT(screen(100, 40), HasSubstr("├ 4014 me"));
  EXPECT_THAT(screen(100, 40), HasSubstr("└ 4015 me"));
}

TEST_F(TopTree, ParentsInACircleLoseNobodyAndEnd) {
  std::vector<ProcessFacts> circle = told();
  circle[0].parent = 4'014;
  circle[1].parent = 4'012;
  circle[2].parent = 4'013;
  circle[3].parent = 4'015;
  state_.take(circle);
  const std::string text = screen(100, 40);
  for (const char* pid : {"4012", "4013", "4014", "4015"}) EXPECT_THAT(text, HasSubstr(pid));
  EXPECT_EQ(labels().size(), 14U);
}

TEST_F(TopTree, ManyAreCounted) {
  std::vector<ProcessFacts> many;
  many.reserve(40);
  for (std::int32_t i = 0; i < 40; ++i) many.push_back({.pid = 5'000 + i, .lease = {19}});
  state_.take(many);
  EXPECT_THAT(labels(), ::testing::Contains("└ and 25 more"));  // 4019, too.
  EXPECT_THAT(screen(100, 60), HasSubstr("└ and 25 more"));
}

TEST_F(TopTree, OneThatComputesAloneIsBusyAsItsLease) {
  const auto busy = [&](std::int32_t pid) {
    for (const TreeLine& line : tree_of(state_, look_.context)) {
      const auto* process = std::get_if<ProcessRow>(&line.line);
      if (process != nullptr && process->label.find(std::to_string(pid)) != std::string::npos) {
        return process->busy;
      }
    }
    return std::optional<std::uint32_t>();
  };
  EXPECT_EQ(busy(4'012), std::nullopt);  // Two use GPU 0.
  std::vector<ProcessFacts> alone = told();
  alone[2].uses.clear();
  state_.take(alone);
  EXPECT_EQ(busy(4'012), 85U);
  EXPECT_EQ(busy(4'013), std::nullopt);
}

TEST_F(TopTree, AClickOnAProcessChoosesItsLease) {
  const Frame shown = frame(100, 40);
  std::map<LeaseId, std::size_t> rows;
  for (const auto& [row, id] : shown.by_row) ++rows[id];
  EXPECT_EQ(rows[LeaseId{12}], 5U);
  EXPECT_EQ(rows[LeaseId{13}], 1U);
  EXPECT_FALSE(rows.contains(LeaseId{}));
  // The mark is at the lease alone.
  int marks = 0;
  for (std::size_t row = 0; row < 40; ++row) marks += shown.canvas.at(row, 0).text == "›" ? 1 : 0;
  EXPECT_EQ(marks, 1);
}

TEST_F(TopTree, TheChosenOneIsShownWithItsProcesses) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    snapshot_.status.leases.push_back(
        sample::lease({100 + i, "sweep", cli::sample::kMe, 1, 1, 1, 0, 1}));
  }
  state_.take(snapshot_);
  for (std::uint64_t id = 100; id < 160; ++id) {
    state_.choose({id});
    const std::string text = screen(100, 24);
    EXPECT_THAT(text, HasSubstr("› " + std::to_string(id)));
    EXPECT_THAT(text, HasSubstr("└ " + std::to_string(4'000 + id)));
  }
}

TEST_F(TopTree, FiltersAreThoseOfLeases) {
  press("/hybrid\r");
  EXPECT_THAT(screen(100, 40), HasSubstr("4014 me"));
  EXPECT_THAT(screen(100, 40), Not(HasSubstr("firefox")));
  EXPECT_THAT(screen(100, 40), Not(HasSubstr("4019")));
  press("t");
  EXPECT_THAT(screen(100, 40), Not(HasSubstr("4014 me")));
}

TEST_F(TopTree, WhatProcessesAreCalledDrivesNoTerminal) {
  std::vector<ProcessFacts> evil = told();
  evil[0].name = "\x1b[2J";
  evil[0].command = "\x1b]0;x\x07";
  state_.take(evil);
  snapshot_.status.devices[0].unmanaged_processes[0].name = "\x1b[31m";
  state_.take(snapshot_);
  EXPECT_THAT(screen(120, 40), Not(HasSubstr("\x1b")));
}

TEST_F(TopTree, NothingIsWiderOrHigherThanTheScreen) {
  for (std::size_t width = 60; width <= 300; width += 7) {
    for (const std::size_t height : {12U, 13U, 24U, 50U}) {
      EXPECT_EQ(frame(width, height).canvas.height(), height);
    }
  }
}

TEST(TopProcessesIn, TheLastStepOfEachProcessOfALease) {
  const auto series = [](std::int32_t pid, std::uint64_t lease, std::int64_t start, Bytes used) {
    return history::Series{
        .subject = {.device = sample::kFirst, .lease = {lease}, .process = {.pid = pid}},
        .name = "python",
        .user = {7},
        .buckets = {{.start = start - 5, .known = 5, .total = 99},
                    {.start = start, .known = 5, .total = used.value * 5}}};
  };
  history::Past past{
      .step = seconds(5),
      .series = {series(1, 12, 100, gib(1)), series(2, 12, 95, gib(2)), series(3, 12, 85, gib(3)),
                 series(4, 0, 100, gib(4)), series(0, 12, 100, gib(5))}};
  past.series.push_back(series(1, 12, 100, gib(6)));
  past.series.back().subject.device = sample::kSecond;
  past.series.push_back(series(5, 12, 100, gib(7)));
  past.series.back().subject.figure = history::Figure::kUtilization;
  const std::vector<ProcessFacts> found = processes_in(past);
  ASSERT_EQ(found.size(), 2U);  // 3 has ended, 4 has no lease, and 0 is no process.
  EXPECT_EQ(found[0].pid, 1);
  EXPECT_EQ(found[0].user, UserId{7});
  EXPECT_THAT(found[0].uses, ElementsAre(ProcessFacts::Use{sample::kFirst, gib(1)},
                                         ProcessFacts::Use{sample::kSecond, gib(6)}));
  EXPECT_EQ(found[1].pid, 2);
}

}  // namespace
}  // namespace berth::cli::top
