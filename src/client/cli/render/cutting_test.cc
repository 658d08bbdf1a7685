// SPDX-License-Identifier: Apache-2.0
#include "cli/render/cutting.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

constexpr Charset kFull = {.unicode = true};
constexpr Charset kPlain = {};

TEST(Cutting, ASentenceLosesItsLastWordsAndNoneIsBroken) {
  EXPECT_EQ(without_end("short", 5, kFull), "short");
  EXPECT_EQ(without_end("python train.py --epochs 90", 20, kFull), "python train.py …");
  EXPECT_EQ(without_end("python train.py --epochs 90", 20, kPlain), "python train.py ..");
  EXPECT_EQ(without_end("waits for memory; 12 ends in ~14 min", 20, kFull), "waits for memory …");
}

TEST(Cutting, AWordThatIsLongerThanAllTheRoomIsBrokenAtAJointIfThereIsOne) {
  EXPECT_EQ(without_end("/usr/local/bin/python3 train.py", 16, kFull), "/usr/local/bin/…");
  EXPECT_EQ(without_end("xxxxxxxxxxxxxxxx", 8, kFull), "xxxxxxx…");
  EXPECT_EQ(without_end("訓練訓練訓練", 7, kFull), "訓練訓…");
  EXPECT_EQ(without_end("anything", 0, kFull), "");
}

TEST(Cutting, NamesKeepWhatTellsThemApart) {
  const std::vector<std::string> names = {"me/sweep-of-learning-rates-0.1-seed-7",
                                          "me/sweep-of-learning-rates-0.2-seed-7",
                                          "me/sweep-of-optimizers-adamw-seed-7", "me/short"};
  EXPECT_EQ(told_apart(names, 24, kFull),
            (std::vector<std::string>{"me/sweep-of-…1-seed-7", "me/sweep-of-…2-seed-7",
                                      "me/sweep-of-optimizers…", "me/short"}));
}

TEST(Cutting, ANameAloneKeepsItsBeginning) {
  EXPECT_EQ(told_apart({"me/a-rather-long-name-of-a-job"}, 20, kFull),
            std::vector<std::string>{"me/a-rather-long…"});
  EXPECT_EQ(told_apart({"me/a-rather-long-name", "me/a-rather-long-name"}, 14, kFull)[0],
            "me/a-rather…");
}

TEST(Cutting, NamesWithoutJointsStillDiffer) {
  const std::string same(40, 'x');
  const auto cut = told_apart({"me/" + same + "1", "me/" + same + "2"}, 16, kFull);
  EXPECT_EQ(cut[0], "me/…xxxxxxxxxxx1");
  EXPECT_EQ(cut[1], "me/…xxxxxxxxxxx2");
}

TEST(Cutting, NothingIsWiderThanItsRoom) {
  const std::vector<std::string> names = {"me/訓練訓練訓練-one-two", "me/訓練訓練訓練-one-three",
                                          "me/訓練訓練訓", "訓", "a-b-c-d-e-f-g"};
  for (std::size_t columns = 1; columns < 30; ++columns) {
    for (const std::string& name : told_apart(names, columns, kFull)) {
      EXPECT_LE(columns_of(name), columns) << name;
    }
    EXPECT_LE(columns_of(without_end("訓練 python train.py --epochs", columns, kFull)), columns);
  }
}

}  // namespace
}  // namespace berth::cli
