// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint_port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>

namespace berth::trainer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class DoorCaller {
 public:
  DoorCaller(const CheckpointPort& door, const std::string& request)
      : connection_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(door.port());
    EXPECT_EQ(connect(connection_.get(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(send(connection_.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
  }
  std::string answer() const {
    std::string text;
    std::array<char, 512> part{};
    for (ssize_t got = 1; got > 0;) {
      got = recv(connection_.get(), part.data(), part.size(), 0);
      if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  os::UniqueFd connection_;
};

const std::string kPost = "POST /checkpoint HTTP/1.1\r\nHost: x\r\n\r\n";

CheckpointPort any_door() {
  auto door = CheckpointPort::open("127.0.0.1:0");
  EXPECT_TRUE(door.ok());
  return *std::move(door);
}

TEST(CheckpointPort, NobodyAskingIsNotWaitedFor) {
  CheckpointPort door = any_door();
  EXPECT_FALSE(door.poll());
}

TEST(CheckpointPort, ACallerIsToldOnceItIsSaved) {
  CheckpointPort door = any_door();
  const DoorCaller asks(door, kPost);
  auto caller = door.poll();
  ASSERT_TRUE(caller);
  caller->answer(std::string("out/checkpoints/one"));
  caller.reset();
  const std::string answer = asks.answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("{\"path\":\"out/checkpoints/one\"}"));
}

TEST(CheckpointPort, WhatCouldNotBeSavedIsToldWithTheReason) {
  CheckpointPort door = any_door();
  const DoorCaller asks(door, kPost);
  auto caller = door.poll();
  ASSERT_TRUE(caller);
  caller->answer(Error{Errc::kFull, "the disk is full"});
  caller.reset();
  const std::string answer = asks.answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(answer, HasSubstr("the disk is full"));
}

TEST(CheckpointPort, WhatElseIsAskedIsRefused) {
  CheckpointPort door = any_door();
  const DoorCaller get(door, "GET /checkpoint HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(door.poll());
  EXPECT_THAT(get.answer(), StartsWith("HTTP/1.1 405 "));
  const DoorCaller other(door, "POST /other HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(door.poll());
  EXPECT_THAT(other.answer(), StartsWith("HTTP/1.1 404 "));
}

TEST(CheckpointPort, OnlyAddressesOfThisMachineAreTaken) {
  for (const auto* wrong : {"0.0.0.0:8080", "10.0.0.1:80", "localhost", "127.0.0.1", "127.0.0.1:x",
                            "127.0.0.1:99999", ""}) {
    const auto door = CheckpointPort::open(wrong);
    ASSERT_FALSE(door.ok()) << wrong;
    EXPECT_EQ(door.error().code, Errc::kInvalid) << wrong;
  }
}

TEST(CheckpointPort, APortThatIsTakenIsAnError) {
  const CheckpointPort door = any_door();
  const auto second = CheckpointPort::open("127.0.0.1:" + std::to_string(door.port()));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace berth::trainer
