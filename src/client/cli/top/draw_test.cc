// SPDX-License-Identifier: Apache-2.0
// Whole screens of several sizes, as the sample's machine looks on them.
#include "cli/top/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/render/text.h"
#include "cli/top/sample_for_test.h"
#include "cli/top/screen_for_test.h"

namespace berth::cli::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TopDraw : public TopScreen {
 protected:
  TopDraw() {
    state_.take(sample::snapshot());
    state_.choose({12});
  }
  std::string pressed(std::string_view keys, std::size_t width = 100, std::size_t height = 30) {
    press(keys);
    return screen(width, height);
  }
};

TEST_F(TopDraw, EightyColumns) {
  EXPECT_EQ(screen(80, 24), R"(
 berth  workbench  13:15:00            36.0 GiB free  4 held  2 wait  ▲ 1 alert
 GPU 0  RTX 5080  87 % busy  61 °C  238 W   used 12.3  granted 14.0 of 15.9 GiB
 ▕█████████████████████████████████░░░░███████░░░▓·····▏  1.4 GiB free to grant
 mem 1 h                             ▇  busy                                 ▇
 GPU 1  H100 PCIe  throttled: thermal       used 40.8  granted 44.0 of 79.6 GiB
 ▕████████████████████░███████░▒·······················▏ 34.6 GiB free to grant
 mem 1 h                             ▅  busy                                 ▅
  ID  SESSION          STATE          GPU  GiB used/peak/granted    AGE     LEFT
  11  me/notebook-ft   suspended      1        – /  0.3 / 14.0    1h18m        –
› 12  me/hybrid-train  held           0      9.8 / 10.1 / 11.0    1h02m  ~14 min
  13  me/notebook      held, idle 9m  0      2.1 /  2.4 /  3.0      12m        –
  15  guest/vllm-qwen  held           1     30.6 / 30.9 / 32.0    4h12m        –
  19  me/eval-llama    held           1     10.2 / 10.5 / 12.0      22m        –
   –  me (unmanaged)   –              0      0.4 /    – /    –        –        –
─ Queue 2 ──────────────────────────────────────────────────────────────────────
  21  me/finetune-8b  24.0 GiB on any GPU  6m
  22  guest/sd-xl     6.0 GiB on any GPU   6m
─ Events ───────────────────────────────────────────────────────────────────────
 13:14:00  checkpoint 19 me/eval-llama by you
 13:03:00  grant 13 me/notebook: 3.0 GiB on GPU 0



 p pause  r resume  s save  x end  m message  w why  / find  ? all  q quit
)");
}

TEST_F(TopDraw, TheSmallest) {
  EXPECT_EQ(screen(60, 12), R"(
 berth  workbench  13:15:00       36.0 GiB free   ▲ 1 alert
 GPU 0 ▕██████████████░░███░▓··▏  12.3 / 15.9 GiB  1.4 free
 and 1 GPU more
  ID  SESSION          STATE          GiB used  1 to 4 of 5
  11  me/notebook-ft   suspended          – /  0.3 / 14.0
› 12  me/hybrid-train  held             9.8 / 10.1 / 11.0
  13  me/notebook      held, idle 9m    2.1 /  2.4 /  3.0
  15  guest/vllm-qwen  held            30.6 / 30.9 / 32.0
─ Queue 2 ──────────────────────────────────────────────────
  21  me/finetune-8b  24.0 GiB on any GPU  6m

 p pause  r resume  x end  w why  / find  ? all  q quit
)");
}

TEST_F(TopDraw, TwoPanes) {
  const std::string wide = screen(160, 18);
  EXPECT_THAT(wide, HasSubstr("  │ ─ Queue 2 ──"));
  EXPECT_THAT(wide,
              HasSubstr("notebook-ft   suspended      1        – /  0.3 / 14.0          1h18m"));
  EXPECT_THAT(wide, HasSubstr("  │   21  me/finetune-8b  24.0 GiB on any GPU  6m\n"));
  EXPECT_THAT(wide, HasSubstr("  │ ─ Events ──"));
  EXPECT_THAT(wide, HasSubstr("  │  13:03:00  grant 13 me/notebook: 3.0 GiB on GPU 0\n"));
  EXPECT_THAT(wide, HasSubstr("throttled: thermal  52 % busy  91 °C  291 W"));
}

TEST_F(TopDraw, LettersOfAsciiAlone) {
  look_.context.charset.unicode = false;
  EXPECT_EQ(screen(80, 16), R"(
 berth  workbench  13:15:00            36.0 GiB free  4 held  2 wait  ! 1 alert
 GPU 0 [####################--####--x...]  87 % busy  12.3 / 15.9 GiB  1.4 free
 GPU 1 [################-=.............]  52 % busy  40.8 / 79.6 GiB  34.6 free
  ID  SESSION          STATE          GPU  GiB used/peak/granted    AGE     LEFT
  11  me/notebook-ft   suspended      1        - /  0.3 / 14.0    1h18m        -
> 12  me/hybrid-train  held           0      9.8 / 10.1 / 11.0    1h02m  ~14 min
  13  me/notebook      held, idle 9m  0      2.1 /  2.4 /  3.0      12m        -
  15  guest/vllm-qwen  held           1     30.6 / 30.9 / 32.0    4h12m        -
  19  me/eval-llama    held           1     10.2 / 10.5 / 12.0      22m        -
   -  me (unmanaged)   -              0      0.4 /    - /    -        -        -
- Queue 2 ----------------------------------------------------------------------
  21  me/finetune-8b  24.0 GiB on any GPU  6m
  22  guest/sd-xl     6.0 GiB on any GPU   6m


 p pause  r resume  s save  x end  m message  w why  / find  ? all  q quit
)");
}

TEST_F(TopDraw, NothingIsWiderOrHigherThanTheScreen) {
  for (std::size_t width = 1; width <= 300; width += 7) {
    for (const std::size_t height : {1U, 11U, 12U, 13U, 17U, 24U, 50U}) {
      const Canvas canvas = frame(width, height).canvas;
      EXPECT_EQ(canvas.width(), width);
      EXPECT_EQ(canvas.height(), height);
    }
  }
  EXPECT_EQ(screen(70, 10), "\nberth top needs 60 columns and 12 lines; this has 70 and 10.\n" +
                                std::string(9, '\n'));
}

TEST_F(TopDraw, ManyDevicesHaveALineEachAndThoseBeyondAreCounted) {
  wire::LiveSnapshot many = sample::snapshot();
  for (std::uint32_t i = 2; i < 8; ++i) {
    DeviceView device = many.status.devices[1];
    device.id.low += i;
    device.index = i;
    device.leases.clear();
    many.status.devices.push_back(device);
  }
  state_.take(many);
  EXPECT_THAT(screen(120, 40), HasSubstr("\n GPU 7  H100 PCIe"));
  EXPECT_THAT(screen(120, 26), HasSubstr("\n GPU 7 ▕"));
  EXPECT_THAT(screen(120, 16), HasSubstr("more\n"));
}

TEST_F(TopDraw, TheChosenOneIsOnThePageThatIsShown) {
  wire::LiveSnapshot many = sample::snapshot();
  for (std::uint64_t i = 0; i < 200; ++i) {
    many.status.leases.push_back(
        sample::lease({100 + i, "sweep", cli::sample::kMe, 1, 1, 1, 0, 1}));
  }
  state_.take(many);
  state_.choose({250});
  const Frame shown = frame(100, 30);
  EXPECT_THAT(shown.canvas.text(), HasSubstr("› 250 "));
  EXPECT_THAT(shown.canvas.text(), HasSubstr(" of 205"));
  for (const auto& [row, id] : shown.by_row) {
    EXPECT_EQ(shown.canvas.at(row, 0).text, id.value == 250 ? "›" : " ");
  }
}

TEST_F(TopDraw, WhatLiesOverTheTable) {
  EXPECT_THAT(pressed("?"), HasSubstr("p  pause it: its memory goes to the host"));
  EXPECT_THAT(screen(100, 30), HasSubstr("t  processes below their leases      "));
  EXPECT_THAT(pressed("x"), HasSubstr("hybrid-train"));
  EXPECT_THAT(pressed("\r"), HasSubstr("granted 11.0 GiB, used 9.8 GiB"));
  EXPECT_THAT(pressed("xw"), HasSubstr("Asking why …"));
  state_.choose({21});
  state_.take(LeaseId{21}, WhyView{.reason = WhyView::Reason::kTurn});
  EXPECT_THAT(screen(100, 30), Not(HasSubstr("Asking why")));
}

TEST_F(TopDraw, QuestionsSayWhatWillBe) {
  EXPECT_THAT(pressed("p"), HasSubstr("Pause 12 me/hybrid-train? 9.8 GiB go to host memory"));
  EXPECT_THAT(pressed("nx"), HasSubstr("Its programs get SIGTERM, and SIGKILL ten seconds later."));
  state_.choose({13});
  EXPECT_THAT(pressed("nx"), HasSubstr("End 13 me/notebook? It is free then."));
  state_.choose({21});
  EXPECT_THAT(pressed("nx"), HasSubstr("Cancel the request 21 me/finetune-8b?"));
  EXPECT_THAT(pressed("nmhello"), HasSubstr("Message about 21: hello_"));
}

TEST_F(TopDraw, SaysThatFiguresAreOld) {
  state_.lost(cli::sample::kNow);
  EXPECT_THAT(screen(100, 30), HasSubstr("No connection since 13:15:00. Figures are from then."));
}

TEST_F(TopDraw, WhatOthersChoseDrivesNoTerminal) {
  wire::LiveSnapshot evil = sample::snapshot();
  evil.host = "a\x1b[2J";
  evil.status.leases[1].request.name = "\x1b]0;x\x07";
  evil.status.devices[0].model = "\x1b[31m";
  evil.events[0].reason = "\x1b[1m\n";
  evil.status.trouble = "\x1b[5m";
  state_.take(evil);
  EXPECT_THAT(screen(120, 40), Not(HasSubstr("\x1b")));
  EXPECT_THAT(changes(Canvas(120, 40), frame(120, 40).canvas, {Colours::kNone}),
              Not(HasSubstr("\x1b]")));
}

TEST_F(TopDraw, WithoutKeysThereIsNoChoice) {
  look_.keys = false;
  EXPECT_THAT(screen(100, 30), Not(HasSubstr("›")));
  EXPECT_THAT(screen(100, 30), Not(HasSubstr("quit")));
}

}  // namespace
}  // namespace berth::cli::top
