// SPDX-License-Identifier: Apache-2.0
// What a mover is told on its command line is what it reads there.
#include "gpu/mover_task.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::gpu {
namespace {

std::optional<MoverTask> read(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse_mover_arguments(arguments);
}

TEST(MoverArguments, AreReadBack) {
  for (const Direction direction :
       {Direction::kOut, Direction::kBack, Direction::kStop, Direction::kGo}) {
    for (const std::optional<Process> supervisor : {std::optional<Process>(), {{7, 8}}}) {
      const MoverTask task{
          .directory = "/run/leases/l_1",
          .lease = {31},
          .direction = direction,
          .bytes = gib(7),
          .supervisor = supervisor,
          .measure = direction == Direction::kOut,
          .pairs = {{.from = {1, 2}, .to = {3, 4}}, {.from = {3, 4}, .to = {5, 6}}},
          .processes = {{1, 11}, {2, 12}}};
      const std::optional<MoverTask> read_back = read(mover_arguments(task));
      ASSERT_TRUE(read_back);
      EXPECT_EQ(read_back->directory, task.directory);
      EXPECT_EQ(read_back->lease, task.lease);
      EXPECT_EQ(read_back->direction, task.direction);
      EXPECT_EQ(read_back->bytes, task.bytes);
      EXPECT_EQ(read_back->supervisor, task.supervisor);
      EXPECT_EQ(read_back->measure, task.measure);
      EXPECT_EQ(read_back->pairs, task.pairs);
      EXPECT_EQ(read_back->processes, task.processes);
    }
  }
}

TEST(MoverArguments, ThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({"/run", "1", "out", "1"}));
  EXPECT_FALSE(read({"/run", "1", "away", "1", "-"}));
  EXPECT_FALSE(read({"/run", "1", "out", "many", "-"}));
  EXPECT_FALSE(read({"/run", "1", "out", "1", "7"}));
  EXPECT_FALSE(read({"/run", "1", "out", "1", "-", "7:"}));
  EXPECT_FALSE(read({"/run", "1", "out", "1", "-", ":7"}));
  EXPECT_FALSE(read({"/run", "1", "back", "1", "-", "GPU-1=GPU-2"}));
  EXPECT_FALSE(read({"/run", "1", "back", "1", "-", "="}));
  EXPECT_FALSE(read({"/run", "x", "out", "1", "-"}));
  EXPECT_FALSE(read({"/run", "out", "1", "-"}));
  EXPECT_TRUE(read({"/run", "1", "out", "1", "-"}));
}

}  // namespace
}  // namespace berth::gpu
