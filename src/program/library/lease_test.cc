// SPDX-License-Identifier: Apache-2.0
#include "library/lease.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

#include "guard/layout.h"
#include "os/files.h"

namespace berth::library {
namespace {

namespace fs = std::filesystem;

constexpr DeviceId kDevice = {1, 2};

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// A lease on one device with a budget of 1 GiB, one process in it that has charged 5 MiB.
class LeaseLedgerTest : public ::testing::Test {
 protected:
  LeaseLedgerTest() {
    std::string pattern = "/tmp/berth-lease-ledger-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    using guard::LimitFile;
    using guard::UseFile;
    std::string limit(sizeof(LimitFile), '\0');
    put(limit, 0, guard::kLimitMagic);
    put(limit, offsetof(LimitFile, layout), guard::kLayout);
    put(limit, offsetof(LimitFile, device_count), std::uint32_t{1});
    put(limit, offsetof(LimitFile, device_size),
        static_cast<std::uint32_t>(sizeof(guard::LimitDevice)));
    put(limit, offsetof(LimitFile, devices), uuid_bytes(kDevice));
    put(limit, offsetof(LimitFile, devices) + offsetof(guard::LimitDevice, budget), gib(1).value);
    std::string use(guard::use_file_size(1), '\0');
    put(use, 0, guard::kUseMagic);
    put(use, offsetof(UseFile, layout), guard::kLayout);
    put(use, offsetof(UseFile, device_count), std::uint32_t{1});
    put(use, offsetof(UseFile, slot_count), guard::kSlotsMax);
    put(use, offsetof(UseFile, slots_seen), std::uint32_t{1});
    put(use, offsetof(UseFile, owners), guard::make_identity(7, 7));
    put(use, offsetof(UseFile, slots), mib(5).value);
    EXPECT_TRUE(os::write_new_file(directory_ + "/limit", limit, 0600).ok());
    EXPECT_TRUE(os::write_new_file(directory_ + "/use", use, 0600).ok());
  }
  ~LeaseLedgerTest() override { fs::remove_all(directory_); }

  std::string directory_;
};

TEST_F(LeaseLedgerTest, TellsWhatTheFilesSay) {
  const Result<LeaseLedger> ledger = LeaseLedger::open(directory_);
  ASSERT_TRUE(ledger.ok());
  const std::optional<LeaseFigures> figures = ledger->figures(kDevice);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->budget, gib(1));
  EXPECT_EQ(figures->used, mib(5));
  EXPECT_FALSE(ledger->figures({9, 9}));
}

TEST_F(LeaseLedgerTest, AFileThatShrinksTellsNothingAndEndsNobody) {
  const Result<LeaseLedger> ledger = LeaseLedger::open(directory_);
  ASSERT_TRUE(ledger.ok());
  for (const std::size_t shorter : {std::size_t{5'000}, std::size_t{0}}) {
    fs::resize_file(directory_ + "/use", shorter);
    EXPECT_FALSE(ledger->figures(kDevice)) << shorter;
    EXPECT_FALSE(LeaseLedger::open(directory_).ok()) << shorter;
  }
}

}  // namespace
}  // namespace berth::library
