// SPDX-License-Identifier: Apache-2.0
// Limits of one client's effect on the daemon's memory, and on the others who ask it: much at once,
// without end, and without reading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "http.h"
#include "world.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::size_t kMib = std::size_t{1} << 20U;

class NeighboursTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.says("listens at")) << daemon_.err();
    (void)connect().get("/v1/status");  // The first figures have come.
    idle_ = peak();
  }
  Http connect() const {
    const std::string directory = world_.directory();
    const std::string name = directory.substr(directory.find('.') + 1);
    return Http(world_.directory() / "run" / "sim" / name / "berthd.sock");
  }
  /// The most memory that the daemon has had so far.
  std::size_t peak() const {
    std::ifstream file("/proc/" + std::to_string(daemon_.pid()) + "/status");
    std::string line;
    while (std::getline(file, line)) {
      if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1'024;
    }
    return 0;
  }
  /// The longest that another user waited, of twenty questions.
  std::chrono::milliseconds slowest() const {
    std::chrono::steady_clock::duration worst{};
    for (int i = 0; i < 20; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(connect().get("/v1/status").status, 200);
      worst = std::max(worst, std::chrono::steady_clock::now() - begin);
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(worst);
  }

  World world_;
  Program daemon_ = world_.start({"berthd", "--foreground"});
  std::size_t idle_ = 0;
};

TEST_F(NeighboursTest, PileOfRequestsWhoseAnswersNobodyReadsCostsNoMemory) {
  std::string pile;
  for (int i = 0; i < 20'000; ++i) pile += "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
  Http greedy = connect();
  std::string_view left = pile;
  for (int stuck = 0; stuck < 20 && !left.empty();) {
    const std::size_t sent = greedy.send_some(left);
    left.remove_prefix(sent);
    stuck = sent > 0 ? 0 : stuck + 1;
    EXPECT_EQ(connect().get("/healthz").status, 200);
  }
  EXPECT_FALSE(left.empty()) << "it is not read";
  EXPECT_LT(slowest(), std::chrono::seconds(2));
  EXPECT_LT(peak(), idle_ + 64 * kMib);
}

TEST_F(NeighboursTest, BodyWithoutEndIsRefusedHoweverItIsFramed) {
  for (const std::string_view begin : {"2;", "2\r\n{}\r\n0\r\nX: "}) {
    Http endless = connect();
    ASSERT_TRUE(
        endless.send("POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    ASSERT_TRUE(endless.send(begin));
    const std::string more(65'536, 'a');
    for (std::size_t sent = 0; sent < 256 * kMib;) {
      const std::size_t now = endless.send_some(more);
      if (now == 0 && connect().get("/healthz").status != 200) break;
      sent += std::max<std::size_t>(now, 1);
      if (endless.has_something()) break;
    }
    ASSERT_TRUE(endless.receives("\r\n\r\n")) << begin;
    EXPECT_THAT(endless.received(), HasSubstr("HTTP/1.1 413 ")) << begin;
  }
  EXPECT_LT(slowest(), std::chrono::seconds(2));
  EXPECT_LT(peak(), idle_ + 64 * kMib);
}

TEST_F(NeighboursTest, ListIsWholeThoughItComesInPages) {
  Http requester = connect();
  constexpr int kLeases = 260;
  for (int i = 1; i <= kLeases; ++i) {
    ASSERT_EQ(requester.post("/v1/leases", {{"vram_bytes", 512 * kMib}, {"ttl_ms", 60'000}}).status,
              201)
        << i;
    ASSERT_EQ(requester.post("/v1/leases/" + std::to_string(i) + "/cancel").status, 200);
    // Its log is a pipe, which a process has to read.
    ASSERT_TRUE(daemon_.says("end lease " + std::to_string(i) + " "));
  }
  EXPECT_EQ(requester.get("/v1/leases?all=1").json()["items"].size(), 250U);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-a"}, {"1.." + std::to_string(kLeases)}}) {
    std::vector<std::string> command = {"berth", "ps", "-o", "ids"};
    command.insert(command.end(), words.begin(), words.end());
    const auto listed = world_.run(command);
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_TRUE(listed.out.starts_with("1\n2\n")) << words.front();
    EXPECT_TRUE(listed.out.ends_with("\n259\n260\n")) << words.front();
    EXPECT_EQ(std::ranges::count(listed.out, '\n'), kLeases) << words.front();
  }
}

}  // namespace
}  // namespace berth::e2e
