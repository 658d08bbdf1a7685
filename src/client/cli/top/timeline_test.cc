// SPDX-License-Identifier: Apache-2.0
#include "cli/top/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/top/draw.h"
#include "cli/top/sample_for_test.h"
#include "cli/top/screen_for_test.h"

namespace berth::cli::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TopTimeline : public TopScreen {
 protected:
  TopTimeline() {
    snapshot_ = sample::snapshot();
    snapshot_.status.leases[0].halt = Halt{.since = sample::ago(minutes(40))};
    LeaseView set = sample::request(17, "sweep-lr", 8, cli::sample::kMe);
    set.request.members = 60;
    set.set = SetProgress{.begun = 20, .ended = 16, .failed = 1};
    snapshot_.status.queue.push_back(set);
    for (std::uint64_t i = 1; i < 4; ++i) {
      LeaseView member =
          sample::lease({17 + 100 * i, "sweep-lr", cli::sample::kMe, 1, 8, 7, 30, 5});
      member.request.member = SetMember{.set = {17}, .number = static_cast<std::uint32_t>(16 + i)};
      if (i == 3) member.state = LeaseState::kWaiting;
      snapshot_.status.leases.push_back(member);
    }
    state_.take(snapshot_);
    WhyView why{.reason = WhyView::Reason::kMemory};
    why.expected_start = sample::in(minutes(14));
    state_.take(LeaseId{21}, why);
    state_.take(std::vector<history::Session>{
        {.id = {10},
         .user = cli::sample::kGuest,
         .name = "embed",
         .started = sample::ago(minutes(70)),
         .ended = sample::ago(minutes(30)),
         .result = EndResult::kOk},
        {.id = {9},
         .user = cli::sample::kMe,
         .name = "bad",
         .started = sample::ago(hours(4)),
         .ended = sample::ago(minutes(60)),
         .result = EndResult::kFailed},
        {.id = {8},
         .name = "long-ago",
         .started = sample::ago(hours(4)),
         .ended = sample::ago(hours(2))},
        {.id = {13}, .name = "runs", .started = sample::ago(hours(1))}});
    state_.choose({12});
  }
  /// The first line with that text.
  std::string line(const std::string& text, std::size_t width = 100) const {
    const std::string all = screen(width, 40);
    const std::size_t at = all.find(text);
    if (at == std::string::npos) return "";
    const std::size_t begin = all.rfind('\n', at) + 1;
    return all.substr(begin, all.find('\n', at) - begin);
  }

  wire::LiveSnapshot snapshot_;
};

TEST_F(TopTimeline, EightyColumns) {
  press("v");
  EXPECT_EQ(screen(80, 30), R"(
 berth  workbench  13:15:00            36.0 GiB free  6 held  4 wait  ▲ 1 alert
 GPU 0  RTX 5080  87 % busy  61 °C  238 W   used 12.3  granted 14.0 of 15.9 GiB
 ▕█████████████████████████████████░░░░███████░░░▓·····▏  1.4 GiB free to grant
 mem 1 h                             ▇  busy                                 ▇
 GPU 1  H100 PCIe  throttled: thermal       used 40.8  granted 44.0 of 79.6 GiB
 ▕████████████████████░███████░▒·······················▏ 34.6 GiB free to grant
 mem 1 h                             ▅  busy                                 ▅
─ Timeline ──────────── 12:00 ─── 12:30 ───── now 13:15 ───── 14:00 ─── 14:30 ──
  11 me/notebook-ft      ████████████‖‖‖‖‖‖‖‖‖‖‖‖‖│
› 12 me/hybrid-train          ████████████████████│░░░
  13 me/notebook                              ████│······
  15 guest/vllm-qwen  ████████████████████████████│······
  19 me/eval-llama                         ███████│······
  117 me/sweep-lr                               ██│······
  217 me/sweep-lr                               ██│······
  21 me/finetune-8b                               │   ╌╌╌╌╌╌
  22 guest/sd-xl                                  │ waits
  10 guest/embed            ▓▓▓▓▓▓▓▓▓▓▓▓▓         │
  9 me/bad            ▓▓▓▓▓▓▓▓▓                   │ failed
─ Sets 1 ───────────────────────────────────────────────────────────────────────
  17 me/sweep-lr  15 ok  1 failed  2 run  42 wait
  ███████████████████✕✕░░······················································
─ Events ───────────────────────────────────────────────────────────────────────
 13:14:00  checkpoint 19 me/eval-llama by you
 13:03:00  grant 13 me/notebook: 3.0 GiB on GPU 0



 What ran, runs and is expected.
 p pause  r resume  s save  x end  m message  w why  / find  ? all  q quit
)");
}

TEST_F(TopTimeline, SixtyColumnsOfAsciiAlone) {
  press("v");
  look_.context.charset.unicode = false;
  EXPECT_EQ(screen(60, 30), R"(
 berth  workbench  13:15:00       36.0 GiB free   ! 1 alert
 GPU 0  RTX 5080  61 C  used 12.3  granted 14.0 of 15.9 GiB
 [####################---####--x...]  1.4 GiB free to grant
 GPU 1  H100 PCIe       used 40.8  granted 44.0 of 79.6 GiB
 [#################-=..............] 34.6 GiB free to grant
- Timeline ----------- 12:00 ------ now 13:15  14:00 -------
  11 me/notebook-ft     ########""""""""|
> 12 me/hybrid-train       #############|--
  13 me/notebook                      ##|......
  15 guest/vllm-qwen  ##################|......
  19 me/eval-llama                 #####|......
  117 me/sweep-lr                      #|......
  217 me/sweep-lr                      #|......
  21 me/finetune-8b                     |  ~~~~~~
  22 guest/sd-xl                        | waits
  10 guest/embed          ++++++++      |
  9 me/bad            ++++++            | failed
- Sets 1 ---------------------------------------------------
  17 me/sweep-lr  15 ok  1 failed  2 run  42 wait
  ##############X--........................................
- Events ---------------------------------------------------
 13:14:00  checkpoint 19 me/eval-llama by you
 13:03:00  grant 13 me/notebook: 3.0 GiB on GPU 0





 What ran, runs and is expected.
 p pause  r resume  x end  w why  / find  ? all  q quit
)");
}

TEST_F(TopTimeline, AHundredAndTwentyColumns) {
  press("v");
  EXPECT_EQ(part(frame(120, 30), 24, 120), R"(
:00                              36.0 GiB free to grant  6 held  1 suspended  4 wait  ▲ 1 alert
usy  61 °C  238 of 360 W                                    used 12.3  granted 14.0 of 15.9 GiB
███████████████████████████████████░░░░░░░█████████████░░░░░▓▓▒········▏  1.4 GiB free to grant
                                 ▇  busy                                                     ▇
tled: thermal  52 % busy  91 °C  291 W                      used 40.8  granted 44.0 of 79.6 GiB
██████████████░████████████░░▒▒········································▏ 34.6 GiB free to grant
                                 ▅  busy                                                     ▅
─── 12:00 ───────── 12:30 ─────────────── now 13:15 ─────────────── 14:00 ───────── 14:30 ──────
    ████████████████████‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖│
             █████████████████████████████████│░░░░░░░
                                        ██████│······
██████████████████████████████████████████████│······
                                  ████████████│······
                                           ███│······
                                           ███│······
                                              │       ╌╌╌╌╌╌
                                              │ waits
        ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓                │
▓▓▓▓▓▓▓▓▓▓▓▓▓▓                                │ failed
────────────────────────────────────────────────────────────────────────────────────────────────
 1 failed  2 run  42 wait
███████✕✕░░░░··················································································
────────────────────────────────────────────────────────────────────────────────────────────────
 me/eval-llama by you
otebook: 3.0 GiB on GPU 0



xpected.
 r resume  s save  x end  m message  w why  t tree  v timeline  / find  ? all  q quit
)");
}

TEST_F(TopTimeline, BelowTheLeasesWhereThereIsRoom) {
  EXPECT_EQ(part(frame(200, 36), 36, 132), R"(

238 of 360 W
█████████████████████████████████████████████████████████████████████████░░░░░░░░░░░░░██████████
                                                             ▇  busy
l  52 % busy  91 °C  291 W
█████████████████████████████████░░░██████████████████████░░░░▒▒································
                                                             ▅  busy
   GPU  GiB used/peak/granted  BUSY    AGE     LEFT  COMMAND
   1        – /  0.3 / 14.0          1h18m        –  python notebook-ft.py
   0      9.8 / 10.1 / 11.0    85 %  1h02m  ~14 min  python hybrid-train.py
m  0      2.1 /  2.4 /  3.0     0 %    12m        –
   1     30.6 / 30.9 / 32.0    40 %  4h12m        –  python vllm-qwen.py
   1     10.2 / 10.5 / 12.0    12 %    22m        –  python eval-llama.py
   1      0.7 /  1.0 /  0.8    30 %     5m        –  python sweep-lr.py
   1      0.7 /  1.0 /  0.8    30 %     5m        –  python sweep-lr.py
   0      0.4 /    – /    –              –        –  firefox
────────── 12:30 ─────────── 13:00  now 13:15  13:30 ─────────── 14:00 ─────────── 14:30 ───────
████████████████‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖│
  ██████████████████████████████████████│░░░░░░░
                                 ███████│······
████████████████████████████████████████│······
                           █████████████│······
                                     ███│······
                                     ███│······
                                        │       ╌╌╌╌╌╌
                                        │ waits
▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓                  │
▓▓▓▓                                    │ failed







 r resume  s save  x end  m message  w why  t tree  v timeline  o sort  u mine  g GPU  Space sto
)");
}

TEST_F(TopTimeline, SetsStandBelowTheQueueWhereThereIsRoom) {
  EXPECT_EQ(part(frame(200, 36), 132, 200), R"(
     36.0 GiB free to grant  6 held  1 suspended  4 wait  ▲ 1 alert
                                used 12.3  granted 14.0 of 15.9 GiB
█████████████░░░░░░░░░▓▓▓▓▓▒···············▏  1.4 GiB free to grant
                                                                 ▇
                                used 40.8  granted 44.0 of 79.6 GiB
···········································▏ 34.6 GiB free to grant
                                                                 ▅
 │ ─ Queue 3 ───────────────────────────────────────────────────────
 │   21  me/finetune-8b  24.0 GiB on any GPU  6m
 │       waits for memory; start ~14 min
 │   22  guest/sd-xl  6.0 GiB on any GPU  6m
 │   17  me/sweep-lr  8.0 GiB on any GPU  6m
 │ ─ Sets 1 ────────────────────────────────────────────────────────
 │   17 me/sweep-lr  15 ok  1 failed  2 run  42 wait
 │   ████████████████✕░░···········································
 │ ─ Events ────────────────────────────────────────────────────────
 │  13:14:00  checkpoint 19 me/eval-llama by you
 │  13:03:00  grant 13 me/notebook: 3.0 GiB on GPU 0
 │
 │
 │
 │
 │
 │
 │
 │
 │
 │
 │
 │
 │
 │
 │
 │

p  / find  ? all  q quit
)");
}

TEST_F(TopTimeline, ThreeHundredColumns) {
  EXPECT_EQ(part(frame(300, 36), 60, 156), R"(


████████████████████████████████████████████████████████████████████████████████████████████████
                                                                                       ▇  busy
 W
███████████████████████████████████████████████░░░░░███████████████████████████████████░░░░░░▒▒▒
                                                                                       ▅  busy
anted  BUSY    AGE     LEFT  COMMAND
4.0          1h18m        –  python notebook-ft.py
1.0    85 %  1h02m  ~14 min  python hybrid-train.py
3.0     0 %    12m        –
2.0    40 %  4h12m        –  python vllm-qwen.py
2.0    12 %    22m        –  python eval-llama.py
0.8    30 %     5m        –  python sweep-lr.py
0.8    30 %     5m        –  python sweep-lr.py
  –              –        –  firefox
── 12:30 ─────────────────────── 13:00 ────── now 13:15 ───── 13:30 ────────────────────── 14:00
██████████‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖‖│
██████████████████████████████████████████████████│░░░░░░░░░░░░
                                      ████████████│······
██████████████████████████████████████████████████│······
                            ██████████████████████│······
                                             █████│······
                                             █████│······
                                                  │            ╌╌╌╌╌╌
                                                  │ waits
▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓                              │
                                                  │ failed







  m message  w why  t tree  v timeline  o sort  u mine  g GPU  Space stop  / find  ? all  q quit
)");
}

TEST_F(TopTimeline, ARowOfEachKind) {
  press("v");
  // Now is at column 60 of 100; a cell is two minutes.
  EXPECT_THAT(line("12 me/hybrid-train"), HasSubstr("█│░"));
  EXPECT_THAT(line("11 me/notebook-ft"), HasSubstr("█‖"));
  EXPECT_THAT(line("11 me/notebook-ft"), HasSubstr("‖│"));
  EXPECT_THAT(line("13 me/notebook"), HasSubstr("█│······"));
  EXPECT_THAT(line("21 me/finetune-8b"), HasSubstr("│     ╌╌╌╌╌╌"));
  EXPECT_THAT(line("22 guest/sd-xl"), HasSubstr("│ waits"));
  EXPECT_THAT(line("10 guest/embed"), HasSubstr("▓▓ "));
  EXPECT_THAT(line("9 me/bad"), HasSubstr("│ failed"));
  EXPECT_EQ(line("long-ago"), "");    // Before all that is shown.
  EXPECT_EQ(line("guest/runs"), "");  // Its end is not known.
}

TEST_F(TopTimeline, WhatJustBeganIsSeen) {
  press("v");
  snapshot_.status.leases[1].started_at = sample::kNow;
  snapshot_.status.leases[1].expected_end = sample::in(milliseconds(1));
  state_.take(snapshot_);
  EXPECT_THAT(line("12 me/hybrid-train"), HasSubstr(" █│░"));
}

TEST_F(TopTimeline, AStartBeyondTheEdgeIsSaid) {
  press("v");
  WhyView why;
  why.expected_start = sample::in(hours(5));
  state_.take(LeaseId{22}, why);
  EXPECT_THAT(line("22 guest/sd-xl"), HasSubstr("starts ~5h"));
  why.expected_start.reset();
  state_.take(LeaseId{22}, why);
  EXPECT_THAT(line("22 guest/sd-xl"), HasSubstr("start not known"));
}

TEST_F(TopTimeline, ItLastsAsLongAsItWasSaidTo) {
  press("v");
  snapshot_.status.queue[0].request.eta = hours(1);
  state_.take(snapshot_);
  EXPECT_THAT(line("21 me/finetune-8b"), HasSubstr("╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌"));
}

TEST_F(TopTimeline, WhatEndsWhileItIsLookedAtIsKept) {
  press("v");
  LeaseView ended = snapshot_.status.leases[4];
  ended.state = LeaseState::kEnded;
  ended.ended_at = sample::kNow;
  ended.result = EndResult::kKilled;
  wire::LiveChange change{.time = sample::kNow};
  change.leases = {ended};
  change.gone = {ended.id};
  state_.take(change);
  EXPECT_THAT(line("19 me/eval-llama"), HasSubstr("▓│ killed"));
  state_.take(snapshot_);  // It is there again.
  EXPECT_THAT(line("19 me/eval-llama"), HasSubstr("█│······"));
  EXPECT_THAT(screen(100, 40), Not(HasSubstr("│ killed")));
}

TEST_F(TopTimeline, OfTheEndedSoManyAreKept) {
  std::vector<history::Session> many;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const UnixMs end = {sample::kNow.value - static_cast<std::int64_t>(i)};
    many.push_back({.id = {5'000 + i}, .started = {end.value - 1}, .ended = end});
  }
  state_.take(many);
  EXPECT_EQ(state_.shown().ended.size(), 200U);
  EXPECT_TRUE(state_.shown().ended.contains({5'000}));
  EXPECT_FALSE(state_.shown().ended.contains({10}));
}

TEST_F(TopTimeline, FiltersAreThoseOfLeases) {
  press("vu");
  EXPECT_EQ(line("guest/embed"), "");
  EXPECT_NE(line("me/bad"), "");
  press("u/hybrid\r");
  EXPECT_EQ(line("me/bad"), "");
  EXPECT_EQ(line("eval-llama  "), "");
  EXPECT_NE(line("hybrid-train  "), "");
}

TEST_F(TopTimeline, KeysAndClicksChooseInItToo) {
  press("vj");
  EXPECT_EQ(state_.chosen()->id, LeaseId{13});
  EXPECT_THAT(line("13 me/notebook"), HasSubstr("› 13"));
  const Frame shown = frame(80, 30);
  std::map<LeaseId, std::size_t> rows;
  for (const auto& [row, id] : shown.by_row) ++rows[id];
  EXPECT_EQ(rows[LeaseId{21}], 1U);
  EXPECT_EQ(rows[LeaseId{17}], 1U);          // The set.
  EXPECT_FALSE(rows.contains(LeaseId{10}));  // It has ended.
  press("v");
  EXPECT_EQ(line("Timeline"), "");
}

TEST_F(TopTimeline, ManyRowsHavePages) {
  for (std::uint64_t i = 0; i < 60; ++i) {
    snapshot_.status.leases.push_back(
        sample::lease({500 + i, "sweep", cli::sample::kMe, 1, 1, 1, 0, 1}));
  }
  state_.take(snapshot_);
  press("v");
  for (std::uint64_t id = 500; id < 560; ++id) {
    state_.choose({id});
    EXPECT_THAT(screen(80, 24), HasSubstr("› " + std::to_string(id)));
    EXPECT_THAT(screen(80, 24), HasSubstr(" of 71\n"));
  }
}

TEST_F(TopTimeline, SmallPartsOfASetAreSeen) {
  press("v");
  LeaseView& set = snapshot_.status.queue[2];
  set.request.members = 10'000;
  set.set = SetProgress{.begun = 9'990, .ended = 9'980, .failed = 1};
  state_.take(snapshot_);
  EXPECT_THAT(screen(80, 30), HasSubstr("17 me/sweep-lr  9979 ok  1 failed  2 run  18 wait\n"));
  EXPECT_THAT(screen(80, 30), HasSubstr("█✕░·\n"));
  set.set = SetProgress{};
  set.hold = OnHold{};
  state_.take(snapshot_);
  EXPECT_THAT(screen(80, 30), HasSubstr("0 ok  0 failed  2 run  9998 wait  on hold\n  ░···"));
}

TEST_F(TopTimeline, OnceItIsAsLongAsItIs) {
  look_.keys = false;
  const std::string text = screen(200, 500);
  const std::string_view shown = std::string_view(text).substr(0, text.find_last_not_of('\n'));
  EXPECT_EQ(std::ranges::count(shown, '\n'), 28);
}

TEST_F(TopTimeline, WhatOthersChoseDrivesNoTerminal) {
  snapshot_.status.queue[2].request.name = "\x1b[2J";
  snapshot_.status.leases[1].request.name = "\x1b]0;x\x07";
  state_.take(snapshot_);
  state_.take(std::vector<history::Session>{
      {.id = {7}, .name = "\x1b[m", .started = {1}, .ended = sample::kNow}});
  EXPECT_THAT(screen(200, 50), Not(HasSubstr("\x1b")));
  press("v");
  EXPECT_THAT(screen(80, 50), Not(HasSubstr("\x1b")));
}

TEST_F(TopTimeline, NothingIsWiderOrHigherThanTheScreen) {
  for (const char* keys : {"", "v"}) {
    press(keys);
    for (std::size_t width = 60; width <= 300; width += 7) {
      for (const std::size_t height : {12U, 13U, 24U, 50U}) {
        EXPECT_EQ(frame(width, height).canvas.height(), height);
      }
    }
  }
}

}  // namespace
}  // namespace berth::cli::top
