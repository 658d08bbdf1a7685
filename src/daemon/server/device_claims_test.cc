// SPDX-License-Identifier: Apache-2.0
#include "server/device_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "os/random.h"
#include "os/unique_fd.h"
#include "os/users.h"

namespace berth::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Rank = DeviceClaims::Rank;

constexpr Instant kNow{1'000'000'000'000};

class DeviceClaimsTest : public ::testing::Test {
 protected:
  std::unique_ptr<DeviceClaims> daemon(Rank rank) {
    return std::make_unique<DeviceClaims>(io_, rank, "berth/1 socket=/here",
                                          [this](const std::string& text) { said_ += text; });
  }
  /// One look at devices that no other test knows.
  Sample sample() const {
    Sample sample;
    for (const DeviceId id : devices_) sample.devices.push_back({.id = id, .capacity = gib(16)});
    return sample;
  }

  boost::asio::io_context io_;
  std::string said_;
  std::vector<DeviceId> devices_ = {{os::random_number(), 1}, {os::random_number(), 2}};
};

TEST_F(DeviceClaimsTest, DeviceThatNobodyHasIsOurs) {
  const auto ours = daemon(Rank::kUser);
  Sample seen = sample();
  ours->apply(kNow, seen);
  EXPECT_FALSE(seen.devices[0].lost);
  EXPECT_THAT(seen.trouble, IsEmpty());
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(DeviceClaimsTest, SecondDaemonStepsBackAndNamesTheFirst) {
  const auto first = daemon(Rank::kUser);
  const auto second = daemon(Rank::kUser);
  Sample seen = sample();
  first->apply(kNow, seen);
  seen = sample();
  second->apply(kNow, seen);
  EXPECT_TRUE(seen.devices[0].lost);
  EXPECT_TRUE(seen.devices[1].lost);
  EXPECT_THAT(seen.devices[0].trouble, AllOf(HasSubstr(os::user_name(os::own_user())),
                                             HasSubstr("pid " + std::to_string(::getpid()))));
  EXPECT_THAT(seen.trouble, HasSubstr("coordinated")) << "no device is left to it";
  EXPECT_THAT(said_, HasSubstr("nothing is granted on it here"));
}

TEST_F(DeviceClaimsTest, OneDeviceOfTwoIsNoTroubleForTheOther) {
  const auto first = daemon(Rank::kUser);
  Sample one = sample();
  one.devices.pop_back();
  first->apply(kNow, one);
  const auto second = daemon(Rank::kUser);
  Sample seen = sample();
  second->apply(kNow, seen);
  EXPECT_TRUE(seen.devices[0].lost);
  EXPECT_FALSE(seen.devices[1].lost);
  EXPECT_THAT(seen.trouble, IsEmpty());
}

/// A client that asks for the name of a device and does not wait for the answer.
os::UniqueFd connect_to(DeviceId device) {
  os::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string name = "berth/1/device/" + to_text(device);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  return socket;
}

TEST_F(DeviceClaimsTest, AClientOfADaemonWithoutDescriptorsIsAnsweredLaterAndKeepsItNotBusy) {
  if (kAddressSanitizer) GTEST_SKIP() << "UBSan opens a pipe to check the type of an object";
  const auto ours = daemon(Rank::kUser);
  Sample seen = sample();
  ours->apply(kNow, seen);
  const os::UniqueFd connection = connect_to(devices_[0]);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::size_t answered = io_.run_for(std::chrono::milliseconds(300));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_LE(answered, 10U) << "two in each 100 ms";
  std::array<char, 64> line{};
  ssize_t count = -1;
  for (int i = 0; i < 100 && count <= 0; ++i) {
    (void)io_.run_one_for(std::chrono::milliseconds(100));
    count = ::recv(connection.get(), line.data(), line.size(), 0);
  }
  EXPECT_EQ(std::string(line.data(), count > 0 ? static_cast<std::size_t>(count) : 0),
            "berth/1 socket=/here\n");
}

TEST_F(DeviceClaimsTest, ClaimPassesOnWhenTheFirstEndsAndNotBeforeARetryIsDue) {
  auto first = daemon(Rank::kUser);
  const auto second = daemon(Rank::kUser);
  Sample seen = sample();
  first->apply(kNow, seen);
  seen = sample();
  second->apply(kNow, seen);
  first.reset();
  io_.poll();
  seen = sample();
  second->apply(kNow + seconds(4), seen);
  EXPECT_TRUE(seen.devices[0].lost);
  seen = sample();
  second->apply(kNow + DeviceClaims::kRetryEvery, seen);
  EXPECT_FALSE(seen.devices[0].lost);
  EXPECT_THAT(said_, HasSubstr("ours to coordinate now"));
}

TEST_F(DeviceClaimsTest, DeviceOfADaemonTooBusyToAnswerIsNotOurs) {
  const auto first = daemon(Rank::kUser);
  Sample seen = sample();
  first->apply(kNow, seen);
  // It takes up no connection while its loop stands: its backlog fills with those who ask.
  std::vector<std::unique_ptr<DeviceClaims>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(daemon(Rank::kUser));
    seen = sample();
    others.back()->apply(kNow, seen);
    EXPECT_TRUE(seen.devices[0].lost);
  }
  EXPECT_THAT(seen.devices[0].trouble, HasSubstr("cannot be found out"));
}

TEST_F(DeviceClaimsTest, DaemonOfTheMachineGrantsBesideAnOrdinaryUsersAndSaysSo) {
  if (os::own_user() == UserId{0}) GTEST_SKIP() << "root's daemon is the machine's: step back";
  const auto users = daemon(Rank::kUser);
  const auto machines = daemon(Rank::kMachine);
  Sample seen = sample();
  users->apply(kNow, seen);
  seen = sample();
  machines->apply(kNow, seen);
  EXPECT_FALSE(seen.devices[0].lost);
  EXPECT_THAT(said_, HasSubstr("unmanaged"));
}

TEST_F(DeviceClaimsTest, DaemonOfTheMachineStepsBackBeforeItsLike) {
  if (os::own_user() != UserId{0}) GTEST_SKIP() << "only root's daemon counts as the machine's";
  const auto first = daemon(Rank::kMachine);
  const auto second = daemon(Rank::kMachine);
  Sample seen = sample();
  first->apply(kNow, seen);
  seen = sample();
  second->apply(kNow, seen);
  EXPECT_TRUE(seen.devices[0].lost);
}

TEST_F(DeviceClaimsTest, DeviceWithoutANameIsNotClaimed) {
  const auto first = daemon(Rank::kUser);
  const auto second = daemon(Rank::kUser);
  devices_ = {{}};
  Sample seen = sample();
  first->apply(kNow, seen);
  seen = sample();
  second->apply(kNow, seen);
  EXPECT_FALSE(seen.devices[0].lost);
}

}  // namespace
}  // namespace berth::server
