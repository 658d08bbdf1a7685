// SPDX-License-Identifier: Apache-2.0
#include "enforce/lease_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include "guard/ledger.h"
#include "guard/linux.h"
#include "os/access.h"
#include "os/files.h"

namespace berth::enforce {
namespace {

namespace fs = std::filesystem;

constexpr Handle kLease = {12, 34};
const Holder kHolder = {.handle = kLease, .number = {7}, .user = {::geteuid()}};
constexpr UserId kUnmanaged = {60001};
constexpr DeviceId kOne = {0x0011223344556677, 0x8899aabbccddeeff};
constexpr DeviceId kTwo = {1, 2};

class LeaseFilesTest : public ::testing::Test {
 protected:
  LeaseFilesTest() {
    std::string pattern = "/tmp/berth-lease-files-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~LeaseFilesTest() override { fs::remove_all(directory_); }

  LeaseFiles files(LeaseFiles::Readers readers = LeaseFiles::Readers::kOwnUser) const {
    return LeaseFiles({.root = directory_ + "/leases", .readers = readers, .context = mib(300)});
  }
  std::string path(const std::string& name) const {
    return directory_ + "/leases/" + to_text(kLease) + "/" + name;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 0777;
  }

  struct Granted {
    UserId user;
    unsigned rights = 0;
    unsigned group = 7;
    friend bool operator==(const Granted&, const Granted&) = default;
  };
  /// As the kernel tells the list: version, then owner, user, group, mask and others, 8 bytes each.
  static Granted granted(const std::string& path) {
    std::array<std::uint16_t, 22> list{};
    constexpr auto kName = "system.posix_acl_access";
    EXPECT_EQ(::getxattr(path.c_str(), kName, list.data(), sizeof list), 44) << path;
    return {
        .user = {list[8] | std::uint32_t{list[9]} << 16U}, .rights = list[7], .group = list[11]};
  }
  bool has_lists() const {
    return os::open_to_user(directory_, {::geteuid()}, os::Grant::kPass).ok() &&
           ::chmod(directory_.c_str(), 0700) == 0;
  }

  /// As the guard has them: mapped, by a process of that pid.
  struct Tenant {
    guard::Ledger ledger;
    guard::Ledger::Attached attached = guard::Ledger::Attached::kBadFile;
  };
  Tenant tenant(std::uint64_t pid) const {
    std::size_t limit_bytes = 0;
    std::size_t use_bytes = 0;
    void* limit = guard::map_file(path("limit").c_str(), guard::Access::kRead, limit_bytes);
    void* use = guard::map_file(path("use").c_str(), guard::Access::kReadWrite, use_bytes);
    Tenant tenant;
    if (limit == nullptr || use == nullptr) return tenant;
    tenant.attached =
        tenant.ledger.attach(limit, limit_bytes, use, use_bytes,
                             {.self = guard::make_identity(pid, 5),
                              .pid_namespace = 1,
                              .life_of = [](guard::Identity) { return guard::Life::kLives; },
                              .has_pid = [](guard::Identity) { return true; }});
    return tenant;
  }

  std::string directory_;
};

TEST_F(LeaseFilesTest, TheGuardReadsWhatTheDaemonWrote) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8)}, {kTwo, gib(4)}}).ok());
  const Tenant one = tenant(7);
  ASSERT_EQ(one.attached, guard::Ledger::Attached::kYes);
  EXPECT_EQ(one.ledger.device_count(), 2U);
  EXPECT_EQ(one.ledger.budget(0), gib(8).value);
  EXPECT_EQ(one.ledger.budget(1), gib(4).value);
  EXPECT_EQ(one.ledger.context_cost(0), mib(300).value);
  EXPECT_THAT(std::vector<int>(one.ledger.uuid(0), one.ledger.uuid(0) + 16),
              ::testing::ElementsAre(0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
                                     0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff));
}

TEST_F(LeaseFilesTest, TheDaemonReadsWhatTheGuardCharged) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8)}, {kTwo, gib(4)}}).ok());
  Tenant one = tenant(7);
  ASSERT_EQ(one.ledger.charge(1, mib(20).value), guard::Ledger::Charged::kYes);
  one.ledger.release(1, mib(5).value);
  EXPECT_EQ(one.ledger.charge(1, gib(5).value), guard::Ledger::Charged::kFull);
  const Result<Use> use = files().read(kLease);
  ASSERT_TRUE(use.ok());
  ASSERT_EQ(use->parts.size(), 2U);
  ASSERT_EQ(use->parts[1].slots.size(), 1U);
  EXPECT_EQ(use->parts[1].slots[0].process, (Process{.pid = 7, .start_ticks = 5}));
  EXPECT_EQ(use->parts[1].slots[0].charged, mib(15));
  EXPECT_EQ(use->parts[0].slots[0].charged, Bytes{});
  EXPECT_EQ(use->parts[1].peak, mib(20));
  EXPECT_EQ(use->parts[1].refused, 1U);
  ASSERT_TRUE(use->refusal);
  EXPECT_EQ(use->refusal->part, 1U);
  EXPECT_EQ(use->refusal->bytes, gib(5));
  EXPECT_EQ(use->refusal->used, mib(15));
  EXPECT_GT(use->refusal->at, Instant{});
  EXPECT_EQ(use->parts[0].peak, Bytes{});
  EXPECT_EQ(use->parts[1].slots[0].wanted, Bytes{});
}

TEST_F(LeaseFilesTest, WhatTheDeadHadIsGivenBack) {
  const LeaseFiles files = this->files();
  ASSERT_TRUE(files.set(kHolder, {{kOne, gib(1)}, {kTwo, gib(1)}}).ok());
  Tenant dead = tenant(40);
  Tenant living = tenant(41);
  (void)dead.ledger.charge(0, mib(600).value);
  (void)dead.ledger.charge(1, mib(700).value);
  (void)living.ledger.charge(0, mib(100).value);
  const Use::Slot slot = files.read(kLease)->parts[0].slots.at(0);
  EXPECT_EQ(living.ledger.looks(), 1U);
  const std::uint64_t movement = living.ledger.movement();
  ASSERT_TRUE(files.clear(kLease, {slot}).ok());
  EXPECT_EQ(living.ledger.used(0), mib(100).value);
  EXPECT_EQ(living.ledger.used(1), 0U);
  EXPECT_EQ(living.ledger.looks(), 2U);
  EXPECT_GT(living.ledger.movement(), movement);
  EXPECT_EQ(tenant(42).attached, guard::Ledger::Attached::kYes);
  // It is another's now.
  ASSERT_TRUE(files.read(kLease)->parts[0].slots.at(0).process.pid == 42);
  ASSERT_TRUE(files.clear(kLease, {slot}).ok());
  EXPECT_EQ(files.read(kLease)->parts[0].slots.at(0).process.pid, 42);
  EXPECT_EQ(living.ledger.looks(), 3U);
}

// A process that looks at that moment must not take the dead one for alive.
TEST_F(LeaseFilesTest, WhoeverClearsASlotIsNotItsOwner) {
  const LeaseFiles files = this->files();
  ASSERT_TRUE(files.set(kHolder, {{kOne, gib(1)}}).ok());
  const int fd = guard::open_file(path("use").c_str(), guard::Access::kReadWrite);
  ASSERT_GE(fd, 0);
  const Use::Slot dead = {.index = 3, .process = {.pid = 40}};
  std::atomic<bool> seen = false;
  std::thread daemon([&] {
    while (!seen.load()) (void)files.clear(kLease, {dead});
  });
  guard::Holding holding = guard::Holding::kNobody;
  while (holding == guard::Holding::kNobody)
    holding = guard::range_holding(fd, guard::lock_of_slot(dead.index));
  seen = true;
  daemon.join();
  guard::close_descriptor(fd);
  EXPECT_EQ(holding, guard::Holding::kTogether);
}

TEST_F(LeaseFilesTest, ALookIsToldAlsoWhereNothingWasGivenBack) {
  const LeaseFiles files = this->files();
  ASSERT_TRUE(files.set(kHolder, {{kOne, gib(1)}}).ok());
  Tenant living = tenant(41);
  ASSERT_TRUE(files.clear(kLease, {}).ok());
  EXPECT_EQ(living.ledger.looks(), 2U);
  EXPECT_EQ(files.clear({1, 1}, {}).error().code, Errc::kNotFound);
}

// One that an earlier daemon made says nothing of that.
TEST_F(LeaseFilesTest, ADaemonThatComesLooksAfterTheDeadOfItsLeases) {
  const LeaseFiles files = this->files();
  ASSERT_TRUE(files.set(kHolder, {{kOne, gib(1)}}).ok());
  Tenant living = tenant(41);
  std::fstream limit(path("limit"), std::ios::in | std::ios::out | std::ios::binary);
  limit.seekp(offsetof(guard::LimitFile, looks));
  limit.write("\0\0\0\0\0\0\0\0", 8);
  limit.close();
  ASSERT_EQ(living.ledger.looks(), 0U);
  ASSERT_TRUE(files.set(kHolder, {{kOne, gib(2)}}).ok());
  EXPECT_GT(living.ledger.looks(), 0U);
}

TEST_F(LeaseFilesTest, TheDaemonReadsThatAProgramWaits) {
  const LeaseFiles files = this->files();
  ASSERT_TRUE(files.set(kHolder, {{kOne, gib(1)}}).ok());
  Tenant living = tenant(41);
  EXPECT_FALSE(files.read(kLease)->wanting);
  (void)living.ledger.before_try();
  EXPECT_TRUE(files.read(kLease)->wanting);
}

TEST_F(LeaseFilesTest, TheDaemonReadsWhatIsWaitedFor) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8)}, {kTwo, gib(4)}}).ok());
  Tenant one = tenant(7);
  one.ledger.begin_wait({.device = 1, .bytes = mib(20).value, .since = 1});
  one.ledger.begin_wait({.device = 1, .bytes = mib(30).value, .since = 2});
  const Result<Use> use = files().read(kLease);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->parts[1].slots.at(0).wanted, mib(50));
  EXPECT_EQ(use->parts[0].slots.at(0).wanted, Bytes{});
  one.ledger.end_wait({.device = 1, .bytes = mib(20).value});
  one.ledger.end_wait({.device = 1, .bytes = mib(30).value});
  EXPECT_EQ(files().read(kLease)->parts[1].slots.at(0).wanted, Bytes{});
}

TEST_F(LeaseFilesTest, AnotherBudgetReachesAProgramThatRuns) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  Tenant one = tenant(7);
  ASSERT_EQ(one.ledger.charge(0, mib(10).value), guard::Ledger::Charged::kYes);
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(12)}}).ok());
  EXPECT_EQ(one.ledger.charge(0, mib(2).value), guard::Ledger::Charged::kYes);
  EXPECT_EQ(one.ledger.used(0), mib(12).value);
}

TEST_F(LeaseFilesTest, AnotherDeviceInItsPlaceReachesAProgramThatRuns) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8)}}).ok());
  ASSERT_TRUE(files().set_contexts(kLease, {{.first = mib(200), .most = mib(210)}}).ok());
  Tenant running = tenant(7);
  ASSERT_EQ(running.ledger.charge(0, gib(5).value), guard::Ledger::Charged::kYes);
  ASSERT_TRUE(files().set(kHolder, {{kTwo, gib(6), mib(400)}}).ok());
  const auto uuid = uuid_bytes(kTwo);
  EXPECT_TRUE(std::ranges::equal(uuid, std::span(running.ledger.uuid(0), uuid.size())));
  EXPECT_EQ(running.ledger.budget(0), gib(6).value);
  EXPECT_EQ(running.ledger.measured_context(0), 0U) << "it is to be measured anew";
  const Result<Use> use = files().read(kLease);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->parts[0].slots[0].charged, gib(5));
}

TEST_F(LeaseFilesTest, WhatTheDriverCountsBeyondTheChargesIsUsedToo) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}, {kTwo, mib(10)}}).ok());
  Tenant one = tenant(7);
  ASSERT_TRUE(files().set_unaccounted(kLease, {Bytes{}, mib(4)}).ok());
  EXPECT_EQ(one.ledger.used(1), mib(4).value);
  EXPECT_EQ(one.ledger.charge(1, mib(7).value), guard::Ledger::Charged::kFull);
  EXPECT_EQ(one.ledger.charge(1, mib(6).value), guard::Ledger::Charged::kYes);
  EXPECT_EQ(one.ledger.charge(0, mib(10).value), guard::Ledger::Charged::kYes);
  EXPECT_FALSE(files().set_unaccounted(kLease, {mib(1)}).ok());
}

TEST_F(LeaseFilesTest, APauseIsToldAndChangesNothingElse) {
  LeaseFiles files = this->files();
  files.set_shown({.physical_total = true});
  EXPECT_EQ(files.paused(kLease), Paused{}) << "there is no such lease";
  ASSERT_TRUE(files.set(kHolder, {{kOne, mib(10)}, {kTwo, mib(10)}}).ok());
  EXPECT_EQ(files.paused(kLease), Paused{});
  for (const Paused paused : {Paused{.away = true}, Paused{.away = true, .frozen = true},
                              Paused{.frozen = true}, Paused{}}) {
    ASSERT_TRUE(files.pause(kLease, paused).ok());
    EXPECT_EQ(files.paused(kLease), paused);
    EXPECT_EQ(tenant(7).ledger.total_shown(0, gib(1).value), gib(1).value);
    ASSERT_TRUE(files.set(kHolder, {{kOne, mib(12)}, {kTwo, mib(10)}}).ok());
    EXPECT_EQ(files.paused(kLease), paused) << "another budget does not end it";
  }
}

TEST_F(LeaseFilesTest, TheDaemonReadsWhatIsChargedForContextsAndHowExactTheRestIs) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8)}, {kTwo, gib(4)}}).ok());
  Tenant one = tenant(7);
  one.ledger.set_context(1, mib(300).value);
  one.ledger.set_at_most(0);
  const Result<Use> use = files().read(kLease);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->parts[0].slots[0].context, Bytes{});
  EXPECT_EQ(use->parts[1].slots[0].context, mib(300));
  EXPECT_FALSE(use->parts[0].slots[0].exact);
  EXPECT_TRUE(use->parts[1].slots[0].exact);
}

TEST_F(LeaseFilesTest, TheGuardReadsWhatContextsWereMeasuredToCost) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8), mib(400)}, {kTwo, gib(4)}}).ok());
  const Tenant one = tenant(7);
  EXPECT_EQ(one.ledger.context_cost(0), mib(400).value);
  EXPECT_EQ(one.ledger.context_cost(1), mib(300).value);
  EXPECT_EQ(one.ledger.measured_context(1), 0U);
  ASSERT_TRUE(files().set_contexts(kLease, {{std::nullopt, {}}, {mib(200), mib(250)}}).ok());
  EXPECT_EQ(one.ledger.context_cost(0), mib(400).value);
  EXPECT_EQ(one.ledger.context_cost(1), mib(200).value);
  EXPECT_EQ(one.ledger.measured_context(0), 0U);
  EXPECT_EQ(one.ledger.measured_context(1), mib(250).value);
  EXPECT_FALSE(files().set_contexts(kLease, {{mib(1), {}}}).ok());
}

TEST_F(LeaseFilesTest, WhatProgramsAreToldOfADeviceIsSetWithTheFilesOfALease) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8)}}).ok());
  EXPECT_EQ(tenant(7).ledger.total_shown(0, gib(16).value), gib(8).value);
  EXPECT_EQ(tenant(7).ledger.total_shown(0, gib(4).value), gib(4).value);
  LeaseFiles others = files();
  others.set_shown({.physical_total = true, .by_nvml = true});
  ASSERT_TRUE(others.set(kHolder, {{kOne, gib(8)}}).ok());
  EXPECT_EQ(tenant(7).ledger.total_shown(0, gib(16).value), gib(8).value);  // As it was.
  others.remove(kLease);
  ASSERT_TRUE(others.set(kHolder, {{kOne, gib(8)}}).ok());
  EXPECT_EQ(tenant(7).ledger.total_shown(0, gib(16).value), gib(16).value);
  const Result<std::string> limit = os::read_file(path("limit"), sizeof(guard::LimitFile));
  ASSERT_TRUE(limit.ok());
  EXPECT_EQ(guard::flags_of(limit->data(), limit->size()),
            guard::kTotalIsPhysical | guard::kByNvmlToo);
  EXPECT_EQ(guard::flags_of(limit->data(), 100), 0U);
}

TEST_F(LeaseFilesTest, ManySlotsAreReadAsFarAsTheyWereTaken) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, gib(8)}}).ok());
  for (std::uint64_t pid = 1; pid <= 5; ++pid) {
    ASSERT_EQ(tenant(pid).ledger.charge(0, mib(pid).value), guard::Ledger::Charged::kYes);
  }
  const Result<Use> use = files().read(kLease);
  ASSERT_TRUE(use.ok());
  ASSERT_EQ(use->parts[0].slots.size(), 5U);
  EXPECT_EQ(use->parts[0].slots[4].process.pid, 5);
  EXPECT_EQ(use->parts[0].slots[4].charged, mib(5));
  EXPECT_EQ(use->parts[0].peak, mib(15));
}

TEST_F(LeaseFilesTest, ADaemonThatStartsAgainKeepsWhatIsCharged) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  Tenant one = tenant(7);
  ASSERT_EQ(one.ledger.charge(0, mib(10).value), guard::Ledger::Charged::kYes);
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  EXPECT_EQ(tenant(8).ledger.used(0), mib(10).value);
}

TEST_F(LeaseFilesTest, WhatWasDamagedIsMadeAnew) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  for (const char* name : {"limit", "use"}) {
    ASSERT_TRUE(os::write_file_atomically(path(name), "rubbish", 0600, os::Sync::kNone).ok());
  }
  EXPECT_FALSE(files().read(kLease).ok());
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  EXPECT_EQ(tenant(7).attached, guard::Ledger::Attached::kYes);
}

TEST_F(LeaseFilesTest, ForOneUserAllIsPrivate) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  EXPECT_EQ(mode_of(directory_ + "/leases"), 0700U);
  EXPECT_EQ(mode_of(path("")), 0700U);
  EXPECT_EQ(mode_of(path("use")), 0600U);
}

TEST_F(LeaseFilesTest, ForAllUsersTheyAreOpenToTheLeasesUserAlone) {
  const LeaseFiles files = this->files(LeaseFiles::Readers::kAllUsers);
  const Holder theirs = {.handle = kLease, .number = {7}, .user = kUnmanaged};
  const Status set = files.set(theirs, {{kOne, mib(10)}});
  if (!has_lists()) {
    EXPECT_EQ(set.ok(), ::geteuid() == 0) << "the file system of /tmp has no access control lists";
    GTEST_SKIP() << "the file system of /tmp has no access control lists";
  }
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ(mode_of(directory_ + "/leases"), 0711U);
  for (int i = 0; i < 2; ++i) {
    // The middle figure is what the list grants at most: its own group has nothing.
    EXPECT_EQ(mode_of(path("")), 0750U);
    EXPECT_EQ(mode_of(path("limit")), 0640U);
    EXPECT_EQ(mode_of(path("use")), 0660U);
    EXPECT_EQ(granted(path("")), (Granted{.user = kUnmanaged, .rights = 5, .group = 0}));
    EXPECT_EQ(granted(path("limit")), (Granted{.user = kUnmanaged, .rights = 4, .group = 0}));
    EXPECT_EQ(granted(path("use")), (Granted{.user = kUnmanaged, .rights = 6, .group = 0}));
    // As an earlier release left them: open to all who know the name.
    for (const char* name : {"", "limit", "use"}) ::chmod(path(name).c_str(), 0777);
    ASSERT_TRUE(files.set(theirs, {{kOne, mib(12)}}).ok());
  }
}

TEST_F(LeaseFilesTest, WhatIsGivenUpHasItsSizeAgainAndHoldsNoNewcomer) {
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  for (const std::uint64_t size : {std::uint64_t{0}, gib(64).value}) {
    fs::resize_file(path("use"), size);
    EXPECT_EQ(files().read(kLease).error().code, Errc::kCorrupt) << size;
    ASSERT_TRUE(files().give_up(kLease, 1).ok());
    EXPECT_EQ(fs::file_size(path("use")), guard::use_file_size(1)) << size;
  }
  EXPECT_FALSE(fs::exists(path("limit")));
}

TEST_F(LeaseFilesTest, ALinkInThePlaceOfTheDirectoryIsRefused) {
  fs::create_directory(directory_ + "/elsewhere");
  fs::create_directory_symlink(directory_ + "/elsewhere", directory_ + "/leases");
  EXPECT_FALSE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  EXPECT_TRUE(fs::is_empty(directory_ + "/elsewhere"));
}

TEST_F(LeaseFilesTest, WhatAKilledDaemonLeftIsRemoved) {
  constexpr Handle kOther = {5, 6};
  ASSERT_TRUE(files().set(kHolder, {{kOne, mib(10)}}).ok());
  ASSERT_TRUE(files()
                  .set({.handle = kOther, .number = {8}, .user = {::geteuid()}}, {{kOne, mib(10)}})
                  .ok());
  files().keep_only({kOther});
  EXPECT_FALSE(files().read(kLease).ok());
  EXPECT_TRUE(files().read(kOther).ok());
  files().remove(kOther);
  EXPECT_TRUE(fs::is_empty(directory_ + "/leases"));
}

}  // namespace
}  // namespace berth::enforce
