// SPDX-License-Identifier: Apache-2.0
#include "server/sync_queue.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "server/copied_journal_for_test.h"

namespace berth::server {
namespace {

class SyncQueueTest : public ::testing::Test {
 protected:
  SyncQueue::Then note(std::string& said) {
    return [&said](const Status& synced) { said = synced.ok() ? "done" : synced.error().message; };
  }

  CopiedJournal journal_;
  boost::asio::io_context io_;
  SyncQueue queue_{io_, journal_, std::nullopt};
  std::string first_;
  std::string second_;
};

TEST_F(SyncQueueTest, WhatIsOnTheDiskAlreadyIsAnsweredByTheNextFlush) {
  journal_.progress.done = 1;
  queue_.add(note(first_));
  EXPECT_EQ(first_, "");
  queue_.flush();
  EXPECT_EQ(first_, "done");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(SyncQueueTest, ACopyServesThoseThatAskedBeforeItBeganAndNoOthers) {
  queue_.add(note(first_));
  ASSERT_TRUE(journal_.append({}).ok());
  queue_.add(note(second_));
  journal_.progress.done = 1;
  queue_.flush();
  EXPECT_EQ(first_, "done");
  EXPECT_EQ(second_, "");
  journal_.progress.done = 2;
  queue_.flush();
  EXPECT_EQ(second_, "done");
}

TEST_F(SyncQueueTest, WhyACopyFailedIsToldToThoseThatWaitForIt) {
  journal_.progress.done = 1;
  queue_.add(note(first_));
  ASSERT_TRUE(journal_.append({}).ok());
  queue_.add(note(second_));
  journal_.progress.trouble = Error{Errc::kIo, "no space"};
  queue_.flush();
  EXPECT_EQ(first_, "done");
  EXPECT_EQ(second_, "no space");
  EXPECT_TRUE(queue_.empty());
}

TEST_F(SyncQueueTest, WhoIsCalledMayAskAgain) {
  journal_.progress.done = 1;
  queue_.add([&](const Status&) { queue_.add(note(second_)); });
  queue_.flush();
  EXPECT_FALSE(queue_.empty());
  queue_.flush();
  EXPECT_EQ(second_, "done");
}

}  // namespace
}  // namespace berth::server
