// SPDX-License-Identifier: Apache-2.0
#include "store/pending_alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "store/history_file.h"

namespace berth::store {
namespace {

class PendingAlertsTest : public testing::Test {
 protected:
  PendingAlertsTest() {
    std::string name = testing::TempDir() + "berth-kept-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
  }
  ~PendingAlertsTest() override { std::filesystem::remove_all(directory_); }

  HistoryFile start() const {
    std::vector<std::string> findings;
    Result<HistoryFile> file = HistoryFile::open(
        {.path = directory_ + "/history.db", .wall = {1'770'458'400'000}}, findings);
    EXPECT_TRUE(file.ok()) << file.error().message;
    return *std::move(file);
  }

  std::string directory_;
};

TEST_F(PendingAlertsTest, MessagesAreKeptUntilTheyAreDroppedInTheirOrder) {
  const AlertDelivery first{.number = 7, .id = "a", .rule = "r", .body = "{}", .created = {1}};
  AlertDelivery second{.number = 9,
                       .id = "b",
                       .rule = "r",
                       .channel = AlertDelivery::Channel::kCommand,
                       .body = "{\"text\":\"\u00e4\"}",
                       .created = {2},
                       .next = {3}};
  {
    HistoryFile file = start();
    ASSERT_TRUE(file.keep({.put = std::vector{second, first}, .drop = {}}).ok());
    second.attempts = 4;
    ASSERT_TRUE(file.keep({.put = std::vector{second}, .drop = {}}).ok());
  }
  HistoryFile file = start();
  EXPECT_EQ(file.kept()->messages, (std::vector{first, second}));
  ASSERT_TRUE(file.keep({.put = {}, .drop = std::vector<std::uint64_t>{7, 8}}).ok());
  EXPECT_EQ(file.kept()->messages, std::vector{second});
  ASSERT_TRUE(file.prune({}, {1'770'458'400'000}).ok()) << "they are no history";
  EXPECT_EQ(file.kept()->messages, std::vector{second});
}

TEST_F(PendingAlertsTest, AlertsThatFireAreKeptUntilOthersDo) {
  const FiringAlert gpu{.rule = "full",
                        .when = "gpu.used > 88%",
                        .device = {1, 2},
                        .name = "GPU 0",
                        .text = "it is",
                        .since = {5},
                        .notified = {6}};
  FiringAlert lease = gpu;
  lease.device = {};
  lease.lease = {12};
  std::vector<FiringAlert> firing = {lease, gpu};
  {
    HistoryFile file = start();
    EXPECT_TRUE(file.kept()->firing.empty());
    ASSERT_TRUE(file.keep({.put = {}, .drop = {}, .firing = &firing}).ok());
    ASSERT_TRUE(file.keep({.put = {}, .drop = {}}).ok()) << "as before";
  }
  HistoryFile file = start();
  EXPECT_THAT(file.kept()->firing, testing::UnorderedElementsAre(gpu, lease));
  firing = {gpu};
  ASSERT_TRUE(file.keep({.put = {}, .drop = {}, .firing = &firing}).ok());
  EXPECT_EQ(file.kept()->firing, firing);
}

}  // namespace
}  // namespace berth::store
