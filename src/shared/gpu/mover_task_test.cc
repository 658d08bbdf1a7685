// SPDX-License-Identifier: Apache-2.0
// Round trip of a mover's task: what is written to it is what it reads.
#include "gpu/mover_task.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::gpu {
namespace {

std::optional<MoverTask> read(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(word) += '\0';
  return decode_mover_task(text += '\n');
}

TEST(MoverTask, IsReadBack) {
  for (const Direction direction :
       {Direction::kSwapOut, Direction::kSwapIn, Direction::kFreeze, Direction::kThaw}) {
    for (const std::optional<Process> supervisor : {std::optional<Process>(), {{7, 8}}}) {
      const MoverTask task{
          .directory = "/run/a \n path/leases/l_1",
          .lease = {31},
          .user = {1002},
          .direction = direction,
          .bytes = gib(7),
          .supervisor = supervisor,
          .measure = direction == Direction::kSwapOut,
          .pairs = {{.from = {1, 2}, .to = {3, 4}}, {.from = {3, 4}, .to = {5, 6}}},
          .processes = {{1, 11}, {2, 12}}};
      const std::optional<MoverTask> read_back = decode_mover_task(encode_mover_task(task));
      ASSERT_TRUE(read_back);
      EXPECT_EQ(read_back->directory, task.directory);
      EXPECT_EQ(read_back->lease, task.lease);
      EXPECT_EQ(read_back->user, task.user);
      EXPECT_EQ(read_back->direction, task.direction);
      EXPECT_EQ(read_back->bytes, task.bytes);
      EXPECT_EQ(read_back->supervisor, task.supervisor);
      EXPECT_EQ(read_back->measure, task.measure);
      EXPECT_EQ(read_back->pairs, task.pairs);
      EXPECT_EQ(read_back->processes, task.processes);
    }
  }
}

TEST(MoverTask, ThatMakesNoSenseIsRefused) {
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
  EXPECT_FALSE(read({"", "1", "out", "1", "-"}));
  EXPECT_FALSE(read({"/run", "1", "out", "1", "-", "user="}));
  EXPECT_FALSE(read({"/run", "1", "out", "1", "-", "user=-1"}));
  EXPECT_TRUE(read({"/run", "1", "out", "1", "-"}));
  EXPECT_EQ(read({"/run", "1", "out", "1", "-"})->user, UserId{~0U}) << "nobody's";
}

TEST(MoverTask, ThatIsNotWholeIsNone) {
  const std::string text =
      encode_mover_task({.directory = "/a\nb", .lease = {1}, .processes = {{1, 11}, {2, 12}}});
  EXPECT_TRUE(is_whole_mover_task(text));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(is_whole_mover_task(text.substr(0, length))) << length;
    EXPECT_FALSE(decode_mover_task(text.substr(0, length))) << length;
  }
}

}  // namespace
}  // namespace berth::gpu
