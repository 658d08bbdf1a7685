// SPDX-License-Identifier: Apache-2.0
#include "store/kept_audit.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::store {
namespace {

constexpr UserId kAuditOwner{1000};
constexpr UserId kAuditBy{0};

std::vector<AuditEntry> two_entries() {
  return {{.at = {1'000},
           .verb = Verb::kGrant,
           .lease = {1},
           .owner = kAuditOwner,
           .name = "train",
           .reason = "8.0 GiB"},
          {.at = {2'000}, .verb = Verb::kCancel, .by = kAuditBy, .lease = {2}, .owner = {7}}};
}

class KeptAuditTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<Database> database = Database::open(":memory:", Database::Access::kReadWrite, nullptr);
    ASSERT_TRUE(database.ok()) << database.error().message;
    database_.emplace(*std::move(database));
    ASSERT_TRUE(make_audit_table(*database_).ok());
    ASSERT_TRUE(keep_audit(*database_, two_entries()).ok());
  }
  std::vector<AuditEntry> found(AuditQuestion question) {
    Result<std::vector<AuditEntry>> audit = kept_audit(*database_, question);
    EXPECT_TRUE(audit.ok());
    return audit.ok() ? *std::move(audit) : std::vector<AuditEntry>{};
  }

  std::optional<Database> database_;
};

TEST_F(KeptAuditTest, AreReadBackOldestFirst) {
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}), two_entries());
  EXPECT_TRUE(make_audit_table(*database_).ok()) << "as at the next start";
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}), two_entries());
}

TEST_F(KeptAuditTest, AreAskedForByTimeLeaseAndUser) {
  const std::vector<AuditEntry> all = two_entries();
  EXPECT_EQ(found({.since = {1'500}, .until = {5'000}}), std::vector{all[1]});
  EXPECT_EQ(found({.since = {0}, .until = {1'500}}), std::vector{all[0]});
  EXPECT_EQ(found({.since = {0}, .until = {5'000}, .lease = LeaseId{2}}), std::vector{all[1]});
  EXPECT_EQ(found({.since = {0}, .until = {5'000}, .user = kAuditBy}), std::vector{all[1]});
  EXPECT_EQ(found({.since = {0}, .until = {5'000}, .user = kAuditOwner}), std::vector{all[0]});
}

TEST_F(KeptAuditTest, AreDroppedWhenTheyAreOldOrTooMany) {
  ASSERT_TRUE(drop_audit(*database_, {1'500}).ok());
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}), std::vector{two_entries()[1]});
  const std::vector<AuditEntry> many(kAuditKept, two_entries()[0]);
  ASSERT_TRUE(database_->execute("BEGIN").ok());
  ASSERT_TRUE(keep_audit(*database_, many).ok());
  ASSERT_TRUE(drop_audit(*database_, {0}).ok());
  ASSERT_TRUE(database_->execute("COMMIT").ok());
  EXPECT_EQ(database_->number("SELECT count(*) FROM audit").ok(), true);
  EXPECT_EQ(*database_->number("SELECT count(*) FROM audit"), kAuditKept);
  EXPECT_EQ(found({.since = {0}, .until = {5'000}}).size(), kAuditTold);
}

TEST_F(KeptAuditTest, OneUsersManyPushOutNobodyElses) {
  const std::vector<AuditEntry> before = two_entries();
  const std::vector<AuditEntry> many(kAuditKept + 500, before[0]);
  ASSERT_TRUE(database_->execute("BEGIN").ok());
  ASSERT_TRUE(keep_audit(*database_, many).ok());
  ASSERT_TRUE(drop_audit(*database_, {0}).ok());
  ASSERT_TRUE(database_->execute("COMMIT").ok());
  EXPECT_EQ(*database_->number("SELECT count(*) FROM audit"), kAuditKept);
  EXPECT_EQ(found({.since = {0}, .until = {5'000}, .lease = LeaseId{2}}), std::vector{before[1]})
      << "older than all of the other's, and his only one";
  const std::vector<AuditEntry> last(300, before[1]);
  ASSERT_TRUE(keep_audit(*database_, last).ok());
  ASSERT_TRUE(drop_audit(*database_, {0}).ok());
  EXPECT_EQ(*database_->number("SELECT count(*) FROM audit WHERE owner_id = 7"), 301U);
  EXPECT_EQ(*database_->number("SELECT count(*) FROM audit"), kAuditKept);
}

}  // namespace
}  // namespace berth::store
