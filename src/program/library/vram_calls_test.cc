// SPDX-License-Identifier: Apache-2.0
// The VRAM manager as a program sees it through C, with a framework that is made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "berth/berth.h"

namespace berth::library {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

// A framework with a cache, and a program that uses it.
struct Framework {
  std::uint64_t allocated = 0;
  std::uint64_t cached = 0;
  std::vector<std::string> calls;
  std::vector<std::uint32_t> asked;
  std::int32_t answer = BERTH_DONE;
  std::vector<std::string> events;

  static Framework& of(void* user) { return *static_cast<Framework*>(user); }
};

std::int32_t told_allocated(void* user, std::uint32_t /*device*/, std::uint64_t* bytes) {
  *bytes = Framework::of(user).allocated;
  return 0;
}
std::int32_t told_reserved(void* user, std::uint32_t /*device*/, std::uint64_t* bytes) {
  *bytes = Framework::of(user).allocated + Framework::of(user).cached;
  return 0;
}
std::int32_t empty_cache(void* user, std::uint32_t /*device*/) {
  Framework::of(user).cached = 0;
  Framework::of(user).calls.emplace_back("empty_cache");
  return 0;
}
std::int32_t synchronize(void* user, std::uint32_t /*device*/) {
  Framework::of(user).calls.emplace_back("synchronize");
  return 0;
}
std::int32_t act(void* user, std::uint32_t action) {
  Framework::of(user).asked.push_back(action);
  return Framework::of(user).answer;
}
void note_event(void* user, const berth_event* event) {
  Framework::of(user).events.emplace_back(event->text);
}

class VramCalls : public ::testing::Test {
 protected:
  void SetUp() override { make({}); }
  void TearDown() override { EXPECT_EQ(berth_vram_manager_destroy(manager), BERTH_OK); }

  void make(berth_vram_options options) {
    if (manager != 0) (void)berth_vram_manager_destroy(manager);
    options.size = sizeof options;
    options.basis = BERTH_BASIS_ALLOCATOR;
    options.warn_bytes = 1'000 * kMib;
    options.cleanup_bytes = 2'000 * kMib;
    options.critical_bytes = 3'000 * kMib;
    options.sample_every_ns = 1;
    ASSERT_EQ(berth_vram_manager_create(0, &options, &manager), BERTH_OK) << berth_last_error();
    const berth_provider provider = {.size = sizeof provider,
                                     .reserved = 0,
                                     .user = &framework,
                                     .allocated = &told_allocated,
                                     .reserved_bytes = &told_reserved,
                                     .empty_cache = &empty_cache,
                                     .synchronize = &synchronize};
    ASSERT_EQ(berth_vram_manager_set_provider(manager, &provider), BERTH_OK);
  }
  void set_callbacks(decltype(berth_vram_callbacks::act) function,
                     decltype(berth_vram_callbacks::event) event = nullptr) {
    const berth_vram_callbacks callbacks = {.size = sizeof callbacks,
                                            .reserved = 0,
                                            .user = &framework,
                                            .act = function,
                                            .event = event};
    ASSERT_EQ(berth_vram_manager_set_callbacks(manager, &callbacks), BERTH_OK);
  }
  berth_vram_report step() {
    berth_vram_report report = {.size = sizeof report};
    status = berth_vram_manager_step(manager, &report);
    return report;
  }
  berth_vram_counts counts() {
    berth_vram_counts counts = {.size = sizeof counts};
    EXPECT_EQ(berth_vram_manager_counts(manager, &counts), BERTH_OK);
    return counts;
  }
  std::vector<berth_event> events() {
    std::vector<berth_event> all;
    berth_event event = {.size = sizeof event};
    while (berth_vram_manager_next_event(manager, &event) == BERTH_OK) all.push_back(event);
    return all;
  }

  Framework framework;
  berth_vram_manager manager = 0;
  berth_status status = BERTH_OK;
};

TEST_F(VramCalls, MeasuresWhatTheProviderTellsAndHostMemory) {
  framework.allocated = 300 * kMib;
  framework.cached = 100 * kMib;
  berth_measurement measured = {.size = sizeof measured};
  ASSERT_EQ(berth_vram_manager_measure(manager, 0, &measured), BERTH_OK);
  EXPECT_EQ(measured.provider_allocated.bytes, 300 * kMib);
  EXPECT_EQ(measured.provider_reserved.bytes, 400 * kMib);
  EXPECT_EQ(measured.provider_reserved.source, std::uint32_t{BERTH_FROM_PROVIDER});
  EXPECT_GT(measured.host_used.bytes, kMib);
  EXPECT_EQ(measured.host_used.source, std::uint32_t{BERTH_FROM_KERNEL});
  // What nobody tells is unknown, and not 0 bytes of something.
  EXPECT_EQ(measured.device_used.source, std::uint32_t{BERTH_UNKNOWN});
  EXPECT_EQ(measured.lease_budget.source, std::uint32_t{BERTH_UNKNOWN});
}

TEST_F(VramCalls, StepReportsWhatIsUsedAndItsLevel) {
  framework.allocated = 500 * kMib;
  EXPECT_EQ(step().level, std::uint32_t{BERTH_LEVEL_NORMAL});
  framework.allocated = 1'500 * kMib;
  const berth_vram_report report = step();
  EXPECT_EQ(report.level, std::uint32_t{BERTH_LEVEL_WARN});
  EXPECT_EQ(report.used_bytes, 1'500 * kMib);
  EXPECT_EQ(report.used_known, 1U);
  EXPECT_EQ(report.whole_bytes, 0U);
  EXPECT_EQ(report.step, 2U);
}

TEST_F(VramCalls, CleanupEmptiesTheCacheThenSynchronizesAndTellsWhatWasFreed) {
  framework.allocated = 1'500 * kMib;
  framework.cached = 700 * kMib;
  const berth_vram_report report = step();
  EXPECT_EQ(report.done, std::uint32_t{BERTH_CLEANUP});
  EXPECT_EQ(report.freed_bytes, 700 * kMib);
  EXPECT_EQ(report.used_bytes, 1'500 * kMib);
  EXPECT_EQ(framework.cached, 0U);
  EXPECT_THAT(framework.calls, ElementsAre("empty_cache", "synchronize"));
  EXPECT_EQ(counts().cleanups, 1U);
  EXPECT_EQ(counts().freed_bytes, 700 * kMib);
}

TEST_F(VramCalls, CleansUpEverySoManySteps) {
  make({.cleanup_every = 10});
  for (int i = 0; i < 30; ++i) {
    framework.cached = 5 * kMib;
    step();
  }
  EXPECT_EQ(counts().cleanups, 3U);
}

TEST_F(VramCalls, EmergencyCheckpointOnceAnEpisodeThenTheMeasures) {
  set_callbacks(&act, &note_event);
  framework.allocated = 3'500 * kMib;
  const berth_vram_report report = step();
  EXPECT_EQ(report.done, std::uint32_t{BERTH_CHECKPOINT | BERTH_CLEANUP | BERTH_SHRINK});
  for (int i = 0; i < 3; ++i) step();
  EXPECT_THAT(framework.asked, ElementsAre(BERTH_CHECKPOINT, BERTH_CLEANUP, BERTH_SHRINK,
                                           BERTH_OFFLOAD, BERTH_PAUSE, BERTH_CLEANUP));
  EXPECT_EQ(counts().checkpoints, 1U);
  EXPECT_THAT(framework.events, ::testing::Contains(HasSubstr("emergency checkpoint: done")));
  EXPECT_TRUE(events().empty()) << "they went to the callback";
}

TEST_F(VramCalls, WithoutCallbacksTheProgramIsAskedByTheReportAndAnswers) {
  framework.allocated = 3'500 * kMib;
  EXPECT_EQ(step().wanted, std::uint32_t{BERTH_CHECKPOINT});
  EXPECT_EQ(berth_vram_manager_answer(manager, BERTH_SHRINK, BERTH_DONE), BERTH_INVALID);
  EXPECT_EQ(berth_vram_manager_answer(manager, BERTH_CHECKPOINT, BERTH_DONE), BERTH_OK);
  EXPECT_EQ(counts().checkpoints, 1U);
  EXPECT_EQ(step().wanted, std::uint32_t{BERTH_SHRINK});
  EXPECT_EQ(step().wanted, std::uint32_t{BERTH_OFFLOAD});  // No answer: it was not done.
  EXPECT_EQ(berth_vram_manager_answer(manager, BERTH_OFFLOAD, BERTH_DONE), BERTH_OK);
  EXPECT_EQ(step().wanted, std::uint32_t{BERTH_PAUSE});
}

TEST_F(VramCalls, CallbackThatThrowsCountsAsNotDoneAndTheStepGoesOn) {
  set_callbacks([](void* user, std::uint32_t action) -> std::int32_t {
    Framework::of(user).asked.push_back(action);
    if (action == BERTH_CHECKPOINT) std::vector<int>().at(1) = 0;  // std::out_of_range
    return BERTH_DONE;
  });
  framework.allocated = 3'500 * kMib;
  framework.cached = 1'000 * kMib;
  const berth_vram_report report = step();
  EXPECT_EQ(status, BERTH_CALLBACK);
  EXPECT_THAT(berth_last_error(), HasSubstr("act"));
  EXPECT_EQ(report.done, std::uint32_t{BERTH_CLEANUP | BERTH_SHRINK});
  EXPECT_EQ(counts().checkpoints, 0U);
  EXPECT_EQ(counts().steps, 1U);
  EXPECT_EQ(framework.cached, 0U);
  step();
  EXPECT_EQ(counts().steps, 2U);
}

TEST_F(VramCalls, StepWithinAStepIsRefused) {
  static berth_vram_manager inner;
  static berth_status inner_status;
  inner = manager;
  inner_status = BERTH_OK;
  set_callbacks([](void*, std::uint32_t) -> std::int32_t {
    inner_status = berth_vram_manager_step(inner, nullptr);
    return BERTH_DONE;
  });
  framework.allocated = 3'500 * kMib;
  step();
  EXPECT_EQ(status, BERTH_OK);
  EXPECT_EQ(inner_status, BERTH_BUSY);
}

TEST_F(VramCalls, CallbackThatBlocksStopsItsOwnThreadOnly) {
  static std::atomic<bool> entered;
  static std::atomic<bool> go_on;
  entered = false;
  go_on = false;
  set_callbacks([](void*, std::uint32_t) -> std::int32_t {
    entered = true;
    entered.notify_all();
    go_on.wait(false);
    return BERTH_DONE;
  });
  framework.allocated = 3'500 * kMib;
  std::thread stepping([this] { (void)berth_vram_manager_step(manager, nullptr); });
  entered.wait(false);
  EXPECT_EQ(berth_vram_manager_count_copy(manager, kMib), BERTH_OK);
  char line[64];
  EXPECT_EQ(berth_vram_manager_status_line(manager, line, sizeof line, nullptr), BERTH_OK);
  EXPECT_THAT(line, HasSubstr("Copies: 1 "));
  EXPECT_EQ(berth_vram_manager_step(manager, nullptr), BERTH_BUSY);
  EXPECT_THAT(berth_last_error(), HasSubstr("under way"));
  go_on = true;
  go_on.notify_all();
  stepping.join();
  EXPECT_EQ(berth_vram_manager_step(manager, nullptr), BERTH_OK);
}

TEST_F(VramCalls, CallsFromManyThreadsLoseNothing) {
  std::vector<std::thread> threads;
  std::atomic<int> stepped{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        EXPECT_EQ(berth_vram_manager_count_copy(manager, 2), BERTH_OK);
        if (berth_vram_manager_step(manager, nullptr) == BERTH_OK) ++stepped;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts().copies, 2'000U);
  EXPECT_EQ(counts().copied_bytes, 4'000U);
  EXPECT_EQ(counts().steps, static_cast<std::uint64_t>(stepped.load()));
}

TEST_F(VramCalls, CopiesCountAndTheStatusLineTellsThem) {
  framework.allocated = 512 * kMib;
  step();
  for (int i = 0; i < 35; ++i) (void)berth_vram_manager_count_copy(manager, kMib);
  char line[64];
  std::size_t needed = 0;
  ASSERT_EQ(berth_vram_manager_status_line(manager, line, sizeof line, &needed), BERTH_OK);
  EXPECT_STREQ(line, "VRAM: 512 MiB | Copies: 35 | Cleanups: 0");
  EXPECT_EQ(needed, std::string(line).size());
  EXPECT_EQ(berth_vram_manager_status_line(manager, line, 5, nullptr), BERTH_FULL);
  EXPECT_STREQ(line, "VRAM");
  EXPECT_EQ(berth_vram_manager_status_line(manager, nullptr, 0, &needed), BERTH_FULL);
  EXPECT_EQ(berth_vram_manager_status_line(manager, nullptr, 5, nullptr), BERTH_INVALID);
}

TEST_F(VramCalls, CopiesAreThoseOfOneTrainer) {
  berth_vram_manager other = 0;
  ASSERT_EQ(berth_vram_manager_create(0, nullptr, &other), BERTH_OK);
  EXPECT_EQ(berth_vram_manager_count_copy(other, 1), BERTH_OK);
  EXPECT_EQ(counts().copies, 0U);
  EXPECT_EQ(berth_vram_manager_destroy(other), BERTH_OK);
}

TEST_F(VramCalls, PhasesAreNotedWithMemory) {
  framework.allocated = 100 * kMib;
  EXPECT_EQ(berth_vram_manager_phase(manager, "forward"), BERTH_OK);
  framework.allocated = 900 * kMib;
  EXPECT_EQ(berth_vram_manager_phase(manager, "backward"), BERTH_OK);
  berth_phase_mark marks[4];
  std::uint32_t count = 0;
  ASSERT_EQ(berth_vram_manager_phases(manager, marks, sizeof marks[0], 4, &count), BERTH_OK);
  ASSERT_EQ(count, 2U);
  EXPECT_STREQ(marks[1].name, "backward");
  EXPECT_EQ(marks[1].allocated.bytes, 900 * kMib);
  EXPECT_EQ(marks[0].used.bytes, 100 * kMib);
  EXPECT_EQ(berth_vram_manager_phases(manager, marks, 8, 4, &count), BERTH_INVALID);
  EXPECT_EQ(berth_vram_manager_phase(manager, nullptr), BERTH_INVALID);
  EXPECT_EQ(berth_vram_manager_phase(manager, std::string(48, 'x').c_str()), BERTH_INVALID);
  const std::vector<berth_event> all = events();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].kind, std::uint32_t{BERTH_EVENT_PHASE});
  EXPECT_STREQ(all[1].name, "backward");
  EXPECT_EQ(all[1].used_bytes, 900 * kMib);
}

TEST_F(VramCalls, LeakIsFoundWithinFiftySteps) {
  int steps = 0;
  while (steps < 50 && counts().leaks == 0) {
    ++steps;
    framework.allocated = (500 + 5 * static_cast<std::uint64_t>(steps)) * kMib;
    step();
  }
  EXPECT_EQ(counts().leaks, 1U);
  EXPECT_NEAR(counts().growth_per_step, 5.0 * kMib, 1'000);
  bool told = false;
  for (const berth_event& event : events()) told |= event.kind == BERTH_EVENT_LEAK;
  EXPECT_TRUE(told);
}

TEST_F(VramCalls, OptionsThatMakeNoSenseAreRefused) {
  const auto refused = [](berth_vram_options options) {
    options.size = sizeof options;
    berth_vram_manager none = 0;
    EXPECT_EQ(berth_vram_manager_create(0, &options, &none), BERTH_INVALID);
    EXPECT_EQ(none, 0U);
    return std::string(berth_last_error());
  };
  EXPECT_THAT(refused({.warn_share = 0.9}), HasSubstr("warn"));
  EXPECT_THAT(refused({.warn_bytes = 3, .cleanup_bytes = 2, .critical_bytes = 1}),
              HasSubstr("thresholds rise"));
  EXPECT_THAT(refused({.critical_share = -1}), HasSubstr("critical"));
  EXPECT_THAT(refused({.basis = 9}), HasSubstr("basis"));
}

TEST_F(VramCalls, CleanupWithoutAnyWayToIsSaidToBeNone) {
  ASSERT_EQ(berth_vram_manager_set_provider(manager, nullptr), BERTH_OK);
  std::uint64_t freed = 7;
  EXPECT_EQ(berth_vram_manager_cleanup(manager, &freed), BERTH_UNAVAILABLE);
  EXPECT_EQ(freed, 0U);
  EXPECT_EQ(counts().cleanups, 0U);
}

TEST_F(VramCalls, LastErrorIsThatOfTheThread) {
  (void)berth_detach(0);
  const std::string here = berth_last_error();
  std::thread([] {
    EXPECT_STREQ(berth_last_error(), "");
    (void)berth_vram_manager_step(0, nullptr);
  }).join();
  EXPECT_EQ(berth_last_error(), here);
  EXPECT_STREQ(berth_status_name(BERTH_STALE), "BERTH_STALE");
  EXPECT_STREQ(berth_status_name(77), "unknown status");
}

}  // namespace
}  // namespace berth::library
