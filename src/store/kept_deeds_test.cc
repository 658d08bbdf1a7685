// SPDX-License-Identifier: Apache-2.0
#include "store/kept_deeds.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::store {
namespace {

constexpr UserId kDeedOwner{1000};
constexpr UserId kDeedBy{0};

std::vector<Deed> two_deeds() {
  return {{.at = {1'000},
           .verb = Verb::kGrant,
           .lease = {1},
           .owner = kDeedOwner,
           .name = "train",
           .reason = "8.0 GiB"},
          {.at = {2'000}, .verb = Verb::kCancel, .by = kDeedBy, .lease = {2}, .owner = {7}}};
}

class KeptDeedsTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<Database> database = Database::open(":memory:", Database::Access::kReadWrite, nullptr);
    ASSERT_TRUE(database.ok()) << database.error().message;
    database_.emplace(*std::move(database));
    ASSERT_TRUE(make_deeds_table(*database_).ok());
    ASSERT_TRUE(keep_deeds(*database_, two_deeds()).ok());
  }
  std::vector<Deed> found(DeedsQuestion question) {
    Result<std::vector<Deed>> deeds = kept_deeds(*database_, question);
    EXPECT_TRUE(deeds.ok());
    return deeds.ok() ? *std::move(deeds) : std::vector<Deed>{};
  }

  std::optional<Database> database_;
};

TEST_F(KeptDeedsTest, AreReadBackOldestFirst) {
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}), two_deeds());
  EXPECT_TRUE(make_deeds_table(*database_).ok()) << "as at the next start";
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}), two_deeds());
}

TEST_F(KeptDeedsTest, AreAskedForByTimeLeaseAndUser) {
  const std::vector<Deed> all = two_deeds();
  EXPECT_EQ(found({.since = {1'500}, .until = {5'000}}), std::vector{all[1]});
  EXPECT_EQ(found({.since = {0}, .until = {1'500}}), std::vector{all[0]});
  EXPECT_EQ(found({.since = {0}, .until = {5'000}, .lease = LeaseId{2}}), std::vector{all[1]});
  EXPECT_EQ(found({.since = {0}, .until = {5'000}, .user = kDeedBy}), std::vector{all[1]});
  EXPECT_EQ(found({.since = {0}, .until = {5'000}, .user = kDeedOwner}), std::vector{all[0]});
}

TEST_F(KeptDeedsTest, AreDroppedWhenTheyAreOldOrTooMany) {
  ASSERT_TRUE(drop_deeds(*database_, {1'500}).ok());
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}), std::vector{two_deeds()[1]});
  const std::vector<Deed> many(kDeedsKept, two_deeds()[0]);
  ASSERT_TRUE(database_->execute("BEGIN").ok());
  ASSERT_TRUE(keep_deeds(*database_, many).ok());
  ASSERT_TRUE(drop_deeds(*database_, {0}).ok());
  ASSERT_TRUE(database_->execute("COMMIT").ok());
  EXPECT_EQ(database_->number("SELECT count(*) FROM deeds").ok(), true);
  EXPECT_EQ(*database_->number("SELECT count(*) FROM deeds"), kDeedsKept);
  EXPECT_TRUE(found({.since = {0}, .until = {5'000}, .lease = LeaseId{2}}).empty());
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}).size(), kDeedsTold);
}

}  // namespace
}  // namespace berth::store
