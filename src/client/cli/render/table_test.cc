// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace berth::cli {
namespace {

constexpr Charset kCharset = {.unicode = true};

Table sample() {
  return {
      .columns =
          {{.title = "ID", .align = Column::Align::kRight},
           {.title = "SESSION", .shrinks_to = 8, .shrinks_after = 3, .cut = Column::Cut::kName},
           {.title = "AGE", .align = Column::Align::kRight, .importance = 2},
           {.title = "COMMAND", .shrinks_to = 12, .importance = 2}},
      .rows = {{{"7"}, {"me/train"}, {"3m07s"}, {"python train.py --epochs 90"}},
               {{"1234"}, {"guest/self-hosted-runner"}, {"42 s"}, {"ollama serve"}}},
  };
}

TEST(Table, ColumnsLineUp) {
  EXPECT_EQ(render(sample(), std::nullopt, kCharset),
            "  ID  SESSION                     AGE  COMMAND\n"
            "   7  me/train                  3m07s  python train.py --epochs 90\n"
            "1234  guest/self-hosted-runner   42 s  ollama serve\n");
}

TEST(Table, LongCellsLoseTheirLastWordsFirst) {
  EXPECT_EQ(render(sample(), 60, kCharset),
            "  ID  SESSION                     AGE  COMMAND\n"
            "   7  me/train                  3m07s  python train.py …\n"
            "1234  guest/self-hosted-runner   42 s  ollama serve\n");
}

TEST(Table, ThenTheLeastImportantColumnsGoBeforeANameIsCut) {
  EXPECT_EQ(render(sample(), 50, kCharset),
            "  ID  SESSION                   COMMAND\n"
            "   7  me/train                  python train.py …\n"
            "1234  guest/self-hosted-runner  ollama serve\n");
  EXPECT_EQ(render(sample(), 24, kCharset),
            "  ID  SESSION\n"
            "   7  me/train\n"
            "1234  guest/self-hosted…\n");
}

TEST(Table, NamesOfOneBeginningKeepWhatTellsThemApart) {
  Table table{.columns = {{.title = "SESSION", .shrinks_to = 10, .cut = Column::Cut::kName},
                          {.title = "GPU", .importance = 3}},
              .rows = {}};
  for (const char* last : {"alpha", "beta-long", "gamma"}) {
    table.rows.push_back({{std::string("me/a-sweep-over-learning-rates-") + last}, {"0"}});
  }
  EXPECT_EQ(render(table, 28, kCharset),
            "SESSION                 GPU\n"
            "me/a-sweep-over-…alpha  0\n"
            "me/a-sweep-…beta-long   0\n"
            "me/a-sweep-over-…gamma  0\n");
}

TEST(Table, WhatIsDispensableGoesBeforeACellIsShortened) {
  Table table = sample();
  table.columns[2].importance = 0;
  EXPECT_EQ(render(std::move(table), 60, kCharset),
            "  ID  SESSION                   COMMAND\n"
            "   7  me/train                  python train.py --epochs 90\n"
            "1234  guest/self-hosted-runner  ollama serve\n");
}

TEST(Table, NoLineIsWiderThanTheTerminalWhileThereIsSomethingToGive) {
  for (std::size_t width = 14; width < 90; ++width) {
    std::istringstream lines(render(sample(), width, kCharset));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), width);
  }
}

TEST(Table, EmptyCellsLeaveNoBlanksAtTheEndOfALine) {
  Table table = sample();
  table.header = false;
  table.rows = {{{"7"}, {"me"}, {""}, {""}}, {{"8"}, {""}, {"1 s"}, {"x"}}};
  EXPECT_EQ(render(table, std::nullopt, kCharset), "7  me\n8      1 s  x\n");
}

}  // namespace
}  // namespace berth::cli
