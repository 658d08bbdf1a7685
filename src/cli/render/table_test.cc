// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace berth::cli {
namespace {

constexpr Letters kLetters = {.unicode = true};

Table sample() {
  return {
      .columns = {{.title = "ID", .align = Column::Align::kRight},
                  {.title = "SESSION", .shrinks_to = 8},
                  {.title = "AGE", .align = Column::Align::kRight, .importance = 2},
                  {.title = "COMMAND", .shrinks_to = 10, .importance = 5}},
      .rows = {{{"7"}, {"me/train"}, {"3m07s"}, {"python train.py --epochs 90"}},
               {{"1234"}, {"guest/self-hosted-runner"}, {"42 s"}, {"ollama serve"}}},
  };
}

TEST(Table, ColumnsLineUp) {
  EXPECT_EQ(render(sample(), std::nullopt, kLetters),
            "  ID  SESSION                     AGE  COMMAND\n"
            "   7  me/train                  3m07s  python train.py --epochs 90\n"
            "1234  guest/self-hosted-runner   42 s  ollama serve\n");
}

TEST(Table, LongCellsLoseTheirMiddleFirst) {
  EXPECT_EQ(render(sample(), 50, kLetters),
            "  ID  SESSION               AGE  COMMAND\n"
            "   7  me/train            3m07s  python t…pochs 90\n"
            "1234  guest/sel…d-runner   42 s  ollama serve\n");
}

TEST(Table, ThenTheLeastImportantColumnsGo) {
  const std::string narrow = render(sample(), 24, kLetters);
  EXPECT_EQ(narrow,
            "  ID  SESSION\n"
            "   7  me/train\n"
            "1234  guest/sel…d-runner\n");
}

TEST(Table, WhatIsDispensableGoesBeforeACellIsShortened) {
  Table table = sample();
  table.columns[2].importance = 0;
  EXPECT_EQ(render(std::move(table), 60, kLetters),
            "  ID  SESSION                   COMMAND\n"
            "   7  me/train                  python train.py --epochs 90\n"
            "1234  guest/self-hosted-runner  ollama serve\n");
}

TEST(Table, NoLineIsWiderThanTheTerminalWhileThereIsSomethingToGive) {
  for (std::size_t width = 14; width < 90; ++width) {
    std::istringstream lines(render(sample(), width, kLetters));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), width);
  }
}

TEST(Table, EmptyCellsLeaveNoBlanksAtTheEndOfALine) {
  Table table = sample();
  table.header = false;
  table.rows = {{{"7"}, {"me"}, {""}, {""}}, {{"8"}, {""}, {"1 s"}, {"x"}}};
  EXPECT_EQ(render(table, std::nullopt, kLetters), "7  me\n8      1 s  x\n");
}

}  // namespace
}  // namespace berth::cli
