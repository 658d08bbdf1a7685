// SPDX-License-Identifier: Apache-2.0
#include "server/budget_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "guard/ledger.h"
#include "guard/linux.h"
#include "guard/slot_locks.h"
#include "os/files.h"
#include "os/processes.h"
#include "os/users.h"

namespace berth::server {
namespace {

namespace fs = std::filesystem;
using When = BudgetFiles::When;

constexpr DeviceId kDevice = {1, 2};
const UserId kUser = os::own_user();
const UserId kOther = {kUser.value + 1};

class FakeClock final : public os::Clock {
 public:
  Instant now() const override { return at; }
  UnixMs wall() const override { return {}; }
  Instant at;
};

/// A program of a lease, as the guard has its files mapped.
guard::Ledger tenant(const std::string& directory, Process process) {
  std::size_t limit_bytes = 0;
  std::size_t use_bytes = 0;
  void* limit = guard::map_file((directory + "/limit").c_str(), guard::Access::kRead, limit_bytes);
  void* use = guard::map_file((directory + "/use").c_str(), guard::Access::kReadWrite, use_bytes);
  guard::Ledger ledger;
  const guard::Census census{
      .self = guard::make_identity(static_cast<std::uint64_t>(process.pid), process.start_ticks),
      .pid_namespace = os::own_pid_namespace(),
      .life_of = [](guard::Identity) { return guard::Life::kLives; },
      .has_pid = [](guard::Identity) { return true; }};
  EXPECT_EQ(ledger.attach(limit, limit_bytes, use, use_bytes, census),
            guard::Ledger::Attached::kYes);
  return ledger;
}

class BudgetFilesTest : public ::testing::Test {
 protected:
  ~BudgetFilesTest() override { fs::remove_all(directory_); }

  static std::string make_directory() {
    std::string pattern = "/tmp/berth-budget-files-XXXXXX";
    return ::mkdtemp(pattern.data());
  }
  static Handle handle(std::uint64_t number) { return {number, number}; }
  static enforce::Holder holder(std::uint64_t number, UserId user = kUser) {
    return {.handle = handle(number), .number = {number}, .user = user};
  }
  static std::vector<enforce::Budget> budget(Bytes bytes) { return {{kDevice, bytes}}; }
  bool has_files(Handle lease) const {
    return fs::exists(directory_ + "/leases/" + to_text(lease) + "/limit");
  }
  std::string path_of(Handle lease) const { return directory_ + "/leases/" + to_text(lease); }
  std::size_t count() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(directory_ + "/leases")) {
      count += entry.is_directory() ? 1U : 0U;
    }
    return count;
  }

  /// The driver counts so much of this process.
  static Sample sample_of(Bytes measured) {
    Sample sample;
    sample.driver_version = "575.1";
    DeviceSample& device = sample.devices.emplace_back();
    device.id = kDevice;
    device.model = "A card";
    device.processes.emplace();
    ProcessSample& listed = device.processes->emplace_back();
    listed.process = os::self();
    listed.used = measured;
    return sample;
  }
  std::vector<ChargeSample> look(Bytes measured) {
    clock_.at = clock_.at + seconds(1);
    files_.before_question();
    std::vector<ChargeSample> charges = files_.charges({});
    files_.learn(sample_of(measured));
    return charges;
  }

  /// As a daemon begins.
  BudgetFiles begin() {
    return BudgetFiles({.root = directory_ + "/leases",
                        .readers = enforce::LeaseFiles::Readers::kOwnUser,
                        .context = mib(300)},
                       contexts_path_, clock_,
                       [this](const std::string& text) { warnings_.push_back(text); });
  }
  /// A process of lease 1 has a context that costs so much, and it is measured.
  void measure(Bytes cost) {
    files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
    guard::Ledger ours = tenant(path_of(handle(1)), os::self());
    (void)ours.charge(0, mib(300).value);
    ours.set_context(0, mib(300).value);
    for (int i = 0; i < 2; ++i) (void)look(cost);
  }
  /// What a lease is told that a context costs whose files are made after the first look.
  Bytes told_by(BudgetFiles& files) {
    clock_.at = clock_.at + seconds(1);
    files.before_question();
    files.learn(sample_of(mib(1)));
    files.set_budgets(holder(7), budget(gib(1)), When::kNow);
    return {tenant(path_of(handle(7)), os::self()).context_cost(0)};
  }

  const std::string directory_ = make_directory();
  const std::string contexts_path_ = directory_ + "/contexts";
  FakeClock clock_;
  std::vector<std::string> warnings_;
  BudgetFiles files_ = begin();
};

TEST_F(BudgetFilesTest, AnOfferHasItsFilesAfterTheTurnAndATakenLeaseAtOnce) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kSoon);
  files_.set_budgets(holder(2), budget(gib(1)), When::kNow);
  EXPECT_FALSE(has_files(handle(1)));
  EXPECT_TRUE(has_files(handle(2)));
  files_.catch_up();
  EXPECT_TRUE(has_files(handle(1)));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(BudgetFilesTest, AnOfferTakenBackInItsOwnTurnLeavesNothing) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kSoon);
  files_.set_budgets(holder(1), {}, When::kSoon);
  files_.catch_up();
  EXPECT_FALSE(has_files(handle(1)));
  EXPECT_EQ(files_.next(), Instant::never());
}

TEST_F(BudgetFilesTest, OldFilesGoOneByOneWhenNothingHasHappenedForAWhile) {
  for (std::uint64_t i = 1; i <= 3; ++i) files_.set_budgets(holder(i), budget(gib(1)), When::kNow);
  files_.set_budgets(holder(1), {}, When::kSoon);
  files_.set_budgets(holder(2), {}, When::kSoon);
  files_.tidy();
  EXPECT_EQ(count(), 3U);  // Too soon.
  clock_.at = files_.next();
  files_.tidy();
  EXPECT_EQ(count(), 2U);
  files_.tidy();
  EXPECT_EQ(count(), 1U);
  EXPECT_TRUE(has_files(handle(3)));
  EXPECT_EQ(files_.next(), Instant::never());
}

TEST_F(BudgetFilesTest, WhatIsMadeMeanwhilePutsTheTidyingOff) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  files_.set_budgets(holder(1), {}, When::kSoon);
  clock_.at = files_.next();
  files_.set_budgets(holder(2), budget(gib(1)), When::kSoon);
  files_.catch_up();
  files_.tidy();
  EXPECT_EQ(count(), 2U);
}

TEST_F(BudgetFilesTest, OldFilesHaveABound) {
  for (std::uint64_t i = 1; i <= BudgetFiles::kOldMax + 10; ++i) {
    files_.set_budgets(holder(i), budget(gib(1)), When::kNow);
    files_.set_budgets(holder(i), {}, When::kSoon);
    files_.catch_up();
  }
  EXPECT_EQ(count(), BudgetFiles::kOldMax);
  files_.tidy_all();
  EXPECT_EQ(count(), 0U);
}

TEST_F(BudgetFilesTest, WhatWasChargedIsReadWhenTheDriverAnswers) {
  clock_.at = {seconds(10).ns};
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  guard::Ledger ledger = tenant(path_of(handle(1)), os::self());
  (void)ledger.charge(0, mib(300).value);
  ledger.release(0, mib(100).value);
  (void)ledger.charge(0, gib(2).value);
  files_.before_question();
  const std::vector<ChargeSample> charges = files_.charges({});
  ASSERT_EQ(charges.size(), 1U);
  EXPECT_TRUE(charges[0].lease == handle(1) && charges[0].device == kDevice);
  EXPECT_EQ(charges[0].charged, mib(200));
  EXPECT_EQ(charges[0].peak, mib(300));
  EXPECT_EQ(charges[0].refused, 1U);
  EXPECT_EQ(charges[0].refusal, (ChargeSample::Refusal{.bytes = gib(2), .used = mib(200)}));
  EXPECT_TRUE(charges[0].unchanged);
}

TEST_F(BudgetFilesTest, WhatLivingProcessesWaitForIsRead) {
  clock_.at = {seconds(10).ns};
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  const Process dead{.pid = os::self().pid, .start_ticks = 1};
  guard::Ledger theirs = tenant(path_of(handle(1)), dead);
  guard::Ledger ours = tenant(path_of(handle(1)), os::self());
  theirs.begin_wait({.device = 0, .bytes = mib(7).value, .since = 1});
  ours.begin_wait({.device = 0, .bytes = mib(5).value, .since = 1});
  files_.before_question();
  EXPECT_EQ(files_.charges({}).at(0).wanted, mib(5));
}

TEST_F(BudgetFilesTest, AChargeBetweenTheQuestionAndItsAnswerIsSeen) {
  clock_.at = {seconds(10).ns};
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  guard::Ledger ledger = tenant(path_of(handle(1)), os::self());
  files_.before_question();
  (void)ledger.charge(0, mib(1).value);
  ledger.release(0, mib(1).value);
  EXPECT_FALSE(files_.charges({}).at(0).unchanged);
}

TEST_F(BudgetFilesTest, WhatADeadProcessHadChargedCountsUntilTheDriverHasFreedIt) {
  clock_.at = {seconds(10).ns};
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  const Process dead{.pid = os::self().pid, .start_ticks = 1};  // Before this one had the pid.
  guard::Ledger theirs = tenant(path_of(handle(1)), dead);
  guard::Ledger ours = tenant(path_of(handle(1)), os::self());
  (void)theirs.charge(0, mib(7).value);
  (void)ours.charge(0, mib(5).value);
  Sample sample = sample_of(mib(1));
  sample.devices[0].processes->at(0) = {.process = {.pid = dead.pid}, .alive = false};
  files_.before_question();
  EXPECT_EQ(files_.charges({}).at(0).charged, mib(12));
  files_.settle_dead(sample);
  EXPECT_EQ(ours.used(0), mib(12).value);
  EXPECT_EQ(files_.ask_again_at(), clock_.at + DeadSlots::kFastEvery);
  sample.devices[0].processes->clear();
  files_.settle_dead(sample);
  EXPECT_EQ(ours.used(0), mib(5).value);
  EXPECT_EQ(ours.looks(), 3U);
  EXPECT_EQ(files_.ask_again_at(), Instant::never());
  clock_.at = clock_.at + seconds(1);
  files_.before_question();
  EXPECT_EQ(files_.charges({}).at(0).charged, mib(5));
}

TEST_F(BudgetFilesTest, AProcessThatDiesAfterTheQuestionIsNotSettledByItsAnswer) {
  clock_.at = {seconds(10).ns};
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  guard::Ledger theirs = tenant(path_of(handle(1)), {.pid = os::self().pid, .start_ticks = 1});
  files_.before_question();
  (void)theirs.charge(0, mib(7).value);
  (void)files_.charges({});
  const Sample sample = sample_of(mib(1));
  files_.settle_dead(sample);
  EXPECT_EQ(theirs.used(0), mib(7).value);
  // It is looked for before the next question, however soon that is, if a process died.
  files_.expect_dead({handle(2)});
  files_.before_question();
  files_.settle_dead(sample);
  EXPECT_EQ(theirs.used(0), mib(7).value);
  files_.expect_dead({handle(1)});
  files_.before_question();
  files_.settle_dead(sample);
  EXPECT_EQ(theirs.used(0), 0U);
}

TEST_F(BudgetFilesTest, ADriverThatIsAskedOftenIsComparedNowAndThenAndEndedLeasesAlways) {
  clock_.at = {seconds(10).ns};
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  files_.set_budgets(holder(2), budget(gib(1)), When::kNow);
  files_.before_question();
  EXPECT_EQ(files_.charges({}).size(), 2U);
  files_.before_question();
  const std::vector<ChargeSample> ended = files_.charges({handle(2), handle(3)});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].lease, handle(2));
  EXPECT_FALSE(ended[0].unchanged);
  clock_.at = clock_.at + BudgetFiles::kReadEvery;
  files_.before_question();
  EXPECT_EQ(files_.charges({}).size(), 2U);
}

TEST_F(BudgetFilesTest, WhatAContextCostsIsLearntAndToldToAllLeasesOfItsUser) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  files_.set_budgets(holder(2), budget(gib(1)), When::kNow);
  guard::Ledger ours = tenant(path_of(handle(1)), os::self());
  const guard::Ledger other = tenant(path_of(handle(2)), os::self());
  files_.set_budgets(holder(4, kOther), budget(gib(1)), When::kNow);
  const guard::Ledger theirs = tenant(path_of(handle(4)), os::self());
  (void)ours.charge(0, mib(300).value);
  ours.set_context(0, mib(300).value);
  (void)ours.charge(0, mib(50).value);
  EXPECT_EQ(other.context_cost(0), mib(300).value);
  EXPECT_EQ(look(mib(250)).at(0).excess, Bytes{});
  EXPECT_EQ(look(mib(250)).at(0).excess, Bytes{});  // It is known after this one.
  EXPECT_EQ(other.context_cost(0), mib(200).value);
  EXPECT_EQ(look(mib(250)).at(0).excess, mib(100));
  EXPECT_EQ(ours.measured_context(0), 0U);
  files_.set_unaccounted(handle(1), {mib(7)}, {true});
  EXPECT_EQ(ours.measured_context(0), mib(200).value);
  EXPECT_EQ(ours.used(0), (mib(350) + mib(7)).value);
  (void)look(mib(250));
  EXPECT_EQ(ours.measured_context(0), mib(200).value);
  files_.set_unaccounted(handle(1), {mib(7)}, {false});
  EXPECT_EQ(ours.measured_context(0), 0U);
  files_.set_budgets(holder(3), budget(gib(1)), When::kNow);
  EXPECT_EQ(tenant(path_of(handle(3)), os::self()).context_cost(0), mib(200).value);
  EXPECT_EQ(theirs.context_cost(0), mib(300).value);
  files_.set_budgets(holder(5, kOther), budget(gib(1)), When::kNow);
  EXPECT_EQ(tenant(path_of(handle(5)), os::self()).context_cost(0), mib(300).value);
}

TEST_F(BudgetFilesTest, WhatIsSaidOfContextsIsTakenBackWhenOneTurnsOutDearer) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  guard::Ledger ours = tenant(path_of(handle(1)), os::self());
  (void)ours.charge(0, mib(300).value);
  ours.set_context(0, mib(300).value);
  for (int i = 0; i < 3; ++i) (void)look(mib(200));
  files_.set_unaccounted(handle(1), {Bytes{}}, {true});
  EXPECT_EQ(ours.measured_context(0), mib(200).value);
  (void)look(mib(240));
  EXPECT_EQ(ours.measured_context(0), mib(200).value);
  (void)look(mib(240));
  EXPECT_EQ(ours.measured_context(0), 0U);
}

TEST_F(BudgetFilesTest, WhatAnEarlierDaemonSaidOfTheContextsThereAreHoldsNoLonger) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  const guard::Ledger ours = tenant(path_of(handle(1)), os::self());
  const enforce::LeaseFiles earlier({.root = directory_ + "/leases", .context = mib(300)});
  ASSERT_TRUE(earlier.set_contexts(handle(1), {{mib(200), mib(250)}}).ok());
  BudgetFiles later = begin();
  later.set_budgets(holder(1), budget(gib(1)), When::kNow);
  clock_.at = clock_.at + seconds(10);
  later.before_question();
  (void)later.charges({});
  later.learn(sample_of(mib(1)));
  EXPECT_EQ(ours.measured_context(0), 0U);
  EXPECT_EQ(ours.context_cost(0), mib(200).value);  // That is as true as it was.
}

TEST_F(BudgetFilesTest, WhatAContextCostsOutlivesTheDaemon) {
  measure(mib(200));
  BudgetFiles later = begin();
  EXPECT_EQ(told_by(later), mib(200));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(BudgetFilesTest, WhatCannotBeReadOfItIsSaidAndMeasuredAnew) {
  ASSERT_TRUE(os::write_new_file(contexts_path_, "of another release\n", 0600).ok());
  BudgetFiles later = begin();
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find(contexts_path_), std::string::npos);
  EXPECT_EQ(told_by(later), mib(300));
  measure(mib(200));
  EXPECT_EQ(*os::read_file(contexts_path_, 1000),
            "berth contexts 2\n209715200\t" + std::to_string(kUser.value) + "\t575.1\tA card\n");
}

TEST_F(BudgetFilesTest, WhereItCannotBeKeptThatIsSaidOnce) {
  fs::create_directories(contexts_path_ + "/in the way");
  measure(mib(200));
  (void)look(mib(200));
  EXPECT_EQ(warnings_.size(), 1U);
}

// They lie in memory that all users share: one of another size is cut back each time.
TEST_F(BudgetFilesTest, WhoseFilesMakeNoSenseIsOnlyMeasuredAndThatIsSaidOnce) {
  clock_.at = {seconds(10).ns};
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  files_.set_budgets(holder(2), budget(gib(1)), When::kNow);
  const std::string use = path_of(handle(1)) + "/use";
  const std::uintmax_t size = fs::file_size(use);
  for (const std::uint64_t wrong : {std::uint64_t{100}, gib(3).value, std::uint64_t{0}}) {
    fs::resize_file(use, wrong);
    clock_.at = clock_.at + seconds(1);
    files_.before_question();
    const std::vector<ChargeSample> charges = files_.charges({});
    ASSERT_EQ(charges.size(), 1U);
    EXPECT_EQ(charges[0].lease, handle(2)) << "only it has files that make sense";
    EXPECT_EQ(fs::file_size(use), size);
  }
  files_.pause(handle(1), {.frozen = true});
  files_.set_unaccounted(handle(1), {mib(1)}, {false});
  files_.set_budgets(holder(1), budget(gib(2)), When::kNow);
  EXPECT_FALSE(has_files(handle(1))) << "no program that comes is held to what was scribbled on";
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("lease 1 of user " + std::to_string(kUser.value) + " is not held"),
            std::string::npos)
      << warnings_[0];
}

TEST_F(BudgetFilesTest, AHandleIsInNoWarning) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  fs::remove_all(path_of(handle(1)));
  files_.pause(handle(1), {.frozen = true});
  files_.set_unaccounted(handle(1), {mib(1)}, {false});
  (void)os::write_new_file(path_of(handle(1)), "in the way", 0600);
  files_.set_budgets(holder(1), budget(gib(2)), When::kNow);
  EXPECT_GE(warnings_.size(), 3U);
  for (const std::string& warning : warnings_) {
    EXPECT_EQ(warning.find(to_text(handle(1))), std::string::npos) << warning;
    EXPECT_NE(warning.find("lease 1 "), std::string::npos) << warning;
  }
}

// A program with a guard that locks its slot; where it says that it is.
struct Locking {
  Locking(const std::string& directory, Process process, std::uint64_t pid_namespace,
          std::uint64_t time_namespace) {
    void* use = nullptr;
    std::size_t use_bytes = 0;
    std::size_t limit_bytes = 0;
    EXPECT_TRUE(locks->open(directory.c_str(), use, use_bytes));
    void* limit =
        guard::map_file((directory + "/limit").c_str(), guard::Access::kRead, limit_bytes);
    const guard::Census census{
        .self = guard::make_identity(static_cast<std::uint64_t>(process.pid), process.start_ticks),
        .pid_namespace = pid_namespace,
        .time_namespace = time_namespace,
        .life_of = [](guard::Identity) { return guard::Life::kLives; },
        .has_pid = [](guard::Identity) { return true; },
        .locks = locks.get()};
    EXPECT_EQ(ledger.attach(limit, limit_bytes, use, use_bytes, census),
              guard::Ledger::Attached::kYes);
  }
  std::unique_ptr<guard::SlotLocks> locks = std::make_unique<guard::SlotLocks>();
  guard::Ledger ledger;
};

TEST_F(BudgetFilesTest, AProcessOfAnotherNamespaceCountsAsLongAsItHoldsItsLock) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  const Process first{.pid = 1, .start_ticks = 5};
  Locking elsewhere(path_of(handle(1)), first, 5, 6);
  Locking later(path_of(handle(1)), os::self(), os::own_pid_namespace(),
                os::own_time_namespace() + 1);
  (void)elsewhere.ledger.charge(0, mib(200).value);
  (void)later.ledger.charge(0, mib(10).value);
  EXPECT_EQ(look(mib(1)).at(0).charged, mib(210));
  elsewhere.locks->close();
  EXPECT_EQ(look(mib(1)).at(0).charged, mib(10));
  later.locks->close();
  EXPECT_EQ(look(mib(1)).at(0).dead, mib(210));
}

TEST_F(BudgetFilesTest, AProcessOfOurNamespacesCountsByItsPidAndNotByItsLock) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  const Process dead{.pid = os::self().pid, .start_ticks = 1};
  Locking theirs(path_of(handle(1)), dead, os::own_pid_namespace(), os::own_time_namespace());
  Locking ours(path_of(handle(1)), os::self(), os::own_pid_namespace(), os::own_time_namespace());
  (void)theirs.ledger.charge(0, mib(200).value);
  (void)ours.ledger.charge(0, mib(10).value);
  ours.locks->close();  // By the program itself.
  EXPECT_EQ(look(mib(1)).at(0).charged, mib(210));
  files_.settle_dead({.devices = {{.id = kDevice, .processes = std::vector<ProcessSample>()}}});
  EXPECT_EQ(look(mib(1)).at(0).charged, mib(10));
  theirs.locks->close();
}

// It may have closed its lock itself.
TEST_F(BudgetFilesTest, OfAnotherNamespaceWhatTheDeadHadIsLeftUntilItIsNeeded) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  Locking elsewhere(path_of(handle(1)), {.pid = 1, .start_ticks = 5}, 5, 6);
  guard::Ledger ours = tenant(path_of(handle(1)), os::self());
  (void)elsewhere.ledger.charge(0, mib(200).value);
  elsewhere.locks->close();
  const Sample none{.devices = {{.id = kDevice, .processes = std::vector<ProcessSample>()}}};
  (void)look(mib(1));
  files_.settle_dead(none);
  EXPECT_EQ(ours.used(0), mib(200).value);
  (void)ours.before_try();
  for (int i = 0; i < 2; ++i) {
    (void)look(mib(1));
    clock_.at = clock_.at + DeadSlots::kZombieFor;
    files_.settle_dead(none);
  }
  EXPECT_EQ(ours.used(0), 0U);
}

// The daemon may be told so while the files of the earlier offer are still there.
TEST_F(BudgetFilesTest, ASecondOfferFindsNothingOfTheFirst) {
  files_.set_budgets(holder(1), budget(gib(1)), When::kNow);
  const std::string mark = directory_ + "/leases/" + to_text(handle(1)) + "/mark";
  fs::create_directory(mark);
  files_.set_budgets(holder(1), {}, When::kSoon);
  files_.set_budgets(holder(1), budget(gib(2)), When::kSoon);
  files_.catch_up();
  EXPECT_TRUE(has_files(handle(1)));
  EXPECT_FALSE(fs::exists(mark));
  clock_.at = clock_.at + seconds(1);
  files_.tidy();
  EXPECT_TRUE(has_files(handle(1)));
}

}  // namespace
}  // namespace berth::server
