// SPDX-License-Identifier: Apache-2.0
#include "library/handles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "berth/berth.h"

namespace berth::library {
namespace {

using ::testing::HasSubstr;

berth_session attach_quietly() {
  const berth_session_options options = {
      .size = sizeof options, .flags = BERTH_QUIET, .say = nullptr, .user = nullptr};
  berth_session session = 0;
  EXPECT_EQ(berth_attach(&options, &session), BERTH_OK) << berth_last_error();
  return session;
}

TEST(Handles, NoneAndClosedOnesAreRefused) {
  const berth_session session = attach_quietly();
  EXPECT_EQ(berth_detach(0), BERTH_STALE);
  EXPECT_THAT(berth_last_error(), HasSubstr("the handle is 0"));
  EXPECT_EQ(berth_detach(12345), BERTH_STALE);
  EXPECT_EQ(berth_detach(session), BERTH_OK);
  EXPECT_EQ(berth_detach(session), BERTH_STALE);
  EXPECT_THAT(berth_last_error(), HasSubstr("closed"));
  berth_session_facts facts = {.size = sizeof facts};
  EXPECT_EQ(berth_session_describe(session, &facts), BERTH_STALE);
  EXPECT_NE(attach_quietly(), session);
}

TEST(Handles, OneOfAnotherKindIsRefusedByName) {
  const berth_session session = attach_quietly();
  EXPECT_EQ(berth_vram_manager_step(session, nullptr), BERTH_STALE);
  EXPECT_THAT(berth_last_error(), HasSubstr("the handle of a session"));
  berth_vram_manager manager = 0;
  ASSERT_EQ(berth_vram_manager_create(session, nullptr, &manager), BERTH_OK);
  EXPECT_EQ(berth_detach(manager), BERTH_STALE);
  EXPECT_EQ(berth_vram_manager_step(manager, nullptr), BERTH_OK);
  EXPECT_EQ(berth_vram_manager_destroy(manager), BERTH_OK);
  EXPECT_EQ(berth_detach(session), BERTH_OK);
}

TEST(Handles, ManagerOutlivesTheHandleOfItsSession) {
  const berth_session session = attach_quietly();
  berth_vram_manager manager = 0;
  ASSERT_EQ(berth_vram_manager_create(session, nullptr, &manager), BERTH_OK);
  EXPECT_EQ(berth_detach(session), BERTH_OK);
  EXPECT_EQ(berth_vram_manager_step(manager, nullptr), BERTH_OK);
  EXPECT_EQ(berth_vram_manager_destroy(manager), BERTH_OK);
}

TEST(Handles, AfterAForkTheChildIsToldToAttachForItself) {
  const berth_session session = attach_quietly();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    berth_session_facts facts = {.size = sizeof facts};
    const bool refused = berth_session_describe(session, &facts) == BERTH_STALE &&
                         std::string(berth_last_error()).find("fork") != std::string::npos;
    const berth_session own = attach_quietly();
    const bool works = berth_session_describe(own, &facts) == BERTH_OK && own != session;
    ::_exit(refused && works ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(berth_detach(session), BERTH_OK);
}

TEST(Handles, ThereIsABound) {
  std::vector<berth_vram_manager> open;
  berth_vram_manager manager = 0;
  berth_status status = BERTH_OK;
  while ((status = berth_vram_manager_create(0, nullptr, &manager)) == BERTH_OK) {
    open.push_back(manager);
  }
  EXPECT_EQ(status, BERTH_FULL);
  EXPECT_EQ(manager, 0U);
  EXPECT_LE(open.size(), Handles::kMax);
  EXPECT_GT(open.size(), Handles::kMax / 2);
  for (const berth_vram_manager each : open) EXPECT_EQ(berth_vram_manager_destroy(each), BERTH_OK);
}

TEST(Sizes, StructureWithoutItsSizeIsRefused) {
  berth_session session = attach_quietly();
  berth_session_facts facts = {};
  EXPECT_EQ(berth_session_describe(session, &facts), BERTH_INVALID);
  EXPECT_THAT(berth_last_error(), HasSubstr("sizeof"));
  EXPECT_EQ(berth_session_describe(session, nullptr), BERTH_INVALID);
  EXPECT_EQ(berth_attach(nullptr, nullptr), BERTH_INVALID);
  EXPECT_EQ(berth_detach(session), BERTH_OK);
}

// A program that was built with a later version of the header.
struct LaterOptions {
  berth_vram_options options;
  std::uint64_t later;
};

TEST(Sizes, FieldsOfALaterVersionMayBeThereIfTheyAreZero) {
  LaterOptions later = {.options = {.size = sizeof later}, .later = 0};
  berth_vram_manager manager = 0;
  EXPECT_EQ(berth_vram_manager_create(0, &later.options, &manager), BERTH_OK);
  later.later = 1;
  berth_vram_manager none = 0;
  EXPECT_EQ(berth_vram_manager_create(0, &later.options, &none), BERTH_OTHER_VERSION);
  struct {
    berth_vram_counts counts;
    std::uint64_t later;
  } counts = {.counts = {.size = sizeof counts}, .later = 7};
  EXPECT_EQ(berth_vram_manager_counts(manager, &counts.counts), BERTH_OK);
  EXPECT_EQ(counts.later, 0U);
  EXPECT_EQ(counts.counts.size, sizeof counts);
  EXPECT_EQ(berth_vram_manager_destroy(manager), BERTH_OK);
}

}  // namespace
}  // namespace berth::library
