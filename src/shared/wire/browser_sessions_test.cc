// SPDX-License-Identifier: Apache-2.0
#include "wire/browser_sessions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::wire {
namespace {

constexpr UnixMs kStart{1'700'000'000'000};
constexpr Guest kAna{.user = UserId{1000}, .may_act = true};
constexpr Guest kBen{.user = UserId{1001}, .may_act = false};

UnixMs after(std::int64_t seconds) {
  return {kStart.value + seconds * 1000};
}
SessionSecrets secrets(const std::string& name) {
  return {.cookie = "cookie-" + name, .key = "key-" + name};
}

TEST(BrowserSessions, ACodeOpensOneSessionOnce) {
  BrowserSessions sessions;
  sessions.add_code("K7QD-41MX-9B2F", kAna, kStart);
  EXPECT_EQ(sessions.redeem("K7QD-41MX-9B2F", secrets("a"), after(1)), kAna);
  EXPECT_EQ(sessions.redeem("K7QD-41MX-9B2F", secrets("b"), after(2)), std::nullopt);
  EXPECT_EQ(sessions.guest_of("cookie-a", "key-a", after(3)), kAna);
  EXPECT_EQ(sessions.guest_of("cookie-b", "key-b", after(3)), std::nullopt);
}

TEST(BrowserSessions, ACodeMayBeTypedAsAPersonDoes) {
  for (const char* typed : {"k7qd41mx9b2f", " K7QD 41MX 9B2F ", "K7QD-41mx-9b2f"}) {
    BrowserSessions sessions;
    sessions.add_code("K7QD-41MX-9B2F", kAna, kStart);
    EXPECT_TRUE(sessions.redeem(typed, secrets("a"), kStart)) << typed;
  }
  BrowserSessions sessions;
  sessions.add_code("K7QD-41MX-9B2F", kAna, kStart);
  for (const char* typed : {"", "-", "K7QD", "K7QD-41MX-9B2G", "K7QD-41MX-9B2FK7QD-41MX-9B2F"}) {
    EXPECT_FALSE(sessions.redeem(typed, secrets("a"), kStart)) << typed;
  }
}

TEST(BrowserSessions, ACodeIsOverAfterAMinute) {
  BrowserSessions sessions;
  sessions.add_code("AAAA", kAna, kStart);
  EXPECT_FALSE(sessions.redeem("AAAA", secrets("a"), after(60)));
  sessions.add_code("BBBB", kAna, kStart);
  EXPECT_TRUE(sessions.redeem("BBBB", secrets("b"), after(59)));
}

// See Note [Two secrets of a session].
TEST(BrowserSessions, TheCookieAloneOpensThePageAndNoMore) {
  BrowserSessions sessions;
  sessions.add_code("AAAA", kAna, kStart);
  ASSERT_TRUE(sessions.redeem("AAAA", secrets("a"), kStart));
  EXPECT_TRUE(sessions.opens_page("cookie-a", after(1)));
  EXPECT_FALSE(sessions.opens_page("cookie-b", after(1)));
  EXPECT_FALSE(sessions.opens_page("", after(1)));
  EXPECT_FALSE(sessions.guest_of("cookie-a", "", after(1)));
  EXPECT_FALSE(sessions.guest_of("", "key-a", after(1)));
  EXPECT_FALSE(sessions.guest_of("cookie-a", "key-b", after(1)));
}

TEST(BrowserSessions, TheCookieOfOneAndTheKeyOfAnotherAreNoSession) {
  BrowserSessions sessions;
  sessions.add_code("AAAA", kAna, kStart);
  sessions.add_code("BBBB", kBen, kStart);
  ASSERT_TRUE(sessions.redeem("AAAA", secrets("a"), kStart));
  ASSERT_TRUE(sessions.redeem("BBBB", secrets("b"), kStart));
  EXPECT_FALSE(sessions.guest_of("cookie-a", "key-b", kStart));
  EXPECT_EQ(sessions.guest_of("cookie-b", "key-b", kStart), kBen);
}

TEST(BrowserSessions, OneEndsHalfADayAfterItsLastUse) {
  constexpr std::int64_t kHour = 3600;
  constexpr std::int64_t kHalfADay = 12 * kHour;
  BrowserSessions sessions;
  sessions.add_code("AAAA", kAna, kStart);
  ASSERT_TRUE(sessions.redeem("AAAA", secrets("a"), kStart));
  EXPECT_TRUE(sessions.guest_of("cookie-a", "key-a", after(kHalfADay - 1)));
  EXPECT_TRUE(sessions.guest_of("cookie-a", "key-a", after(2 * kHalfADay - 2)));
  EXPECT_FALSE(sessions.opens_page("cookie-a", after(3 * kHalfADay - 2)));
  EXPECT_FALSE(sessions.guest_of("cookie-a", "key-a", after(3 * kHalfADay - 2)));
  sessions.forget_old(after(3 * kHalfADay - 2));
  EXPECT_TRUE(sessions.sessions().empty());
}

TEST(BrowserSessions, AClockThatWasSetBackEndsNone) {
  BrowserSessions sessions;
  sessions.add_code("AAAA", kAna, kStart);
  ASSERT_TRUE(sessions.redeem("AAAA", secrets("a"), after(-3600)));
  EXPECT_TRUE(sessions.guest_of("cookie-a", "key-a", after(-7200)));
}

TEST(BrowserSessions, AUserWhoMakesManyTakesNoneOfAnothers) {
  BrowserSessions sessions;
  sessions.add_code("BEN", kBen, kStart);
  for (std::size_t i = 0; i < BrowserSessions::kCodesMax + 1; ++i) {
    sessions.add_code("ANA" + std::to_string(i), kAna, kStart);
  }
  EXPECT_FALSE(sessions.redeem("ANA0", secrets("x"), kStart)) << "the oldest made room";
  EXPECT_TRUE(sessions.redeem("ANA1", secrets("x"), kStart));
  EXPECT_TRUE(sessions.redeem("BEN", secrets("ben"), kStart));

  for (std::size_t i = 0; i < BrowserSessions::kSessionsMax; ++i) {
    sessions.add_code("C", kAna, kStart);
    ASSERT_TRUE(sessions.redeem("C", secrets(std::to_string(i)), kStart));
  }
  EXPECT_EQ(sessions.sessions().size(), BrowserSessions::kSessionsMax + 1);
  EXPECT_FALSE(sessions.opens_page("cookie-x", kStart));
  EXPECT_TRUE(sessions.opens_page("cookie-0", kStart));
  EXPECT_TRUE(sessions.opens_page("cookie-ben", kStart));
}

TEST(BrowserSessions, TheOneThatWasUsedLongestAgoMakesRoom) {
  BrowserSessions sessions;
  for (std::size_t i = 0; i < BrowserSessions::kSessionsMax; ++i) {
    sessions.add_code("C", kAna, kStart);
    ASSERT_TRUE(sessions.redeem("C", secrets(std::to_string(i)), kStart));
  }
  ASSERT_TRUE(sessions.guest_of("cookie-0", "key-0", after(1)));
  sessions.add_code("C", kAna, after(2));
  ASSERT_TRUE(sessions.redeem("C", secrets("last"), after(2)));
  EXPECT_TRUE(sessions.opens_page("cookie-0", after(2)));
  EXPECT_FALSE(sessions.opens_page("cookie-1", after(2)));
}

TEST(BrowserSessions, ThoseOfAUserAreRevokedWithTheirCodes) {
  BrowserSessions sessions;
  sessions.add_code("AAAA", kAna, kStart);
  sessions.add_code("BBBB", kBen, kStart);
  ASSERT_TRUE(sessions.redeem("AAAA", secrets("a"), kStart));
  ASSERT_TRUE(sessions.redeem("BBBB", secrets("b"), kStart));
  sessions.add_code("CCCC", kAna, kStart);
  EXPECT_EQ(sessions.revoke(kAna.user), 1U);
  EXPECT_FALSE(sessions.opens_page("cookie-a", kStart));
  EXPECT_FALSE(sessions.redeem("CCCC", secrets("c"), kStart));
  EXPECT_TRUE(sessions.opens_page("cookie-b", kStart));
  EXPECT_EQ(sessions.revoke(std::nullopt), 1U);
  EXPECT_FALSE(sessions.opens_page("cookie-b", kStart));
}

TEST(BrowserSessions, ThoseThatWereKeptGoOn) {
  BrowserSessions before;
  before.add_code("AAAA", kAna, kStart);
  before.add_code("BBBB", kBen, kStart);
  ASSERT_TRUE(before.redeem("AAAA", secrets("a"), kStart));
  ASSERT_TRUE(before.redeem("BBBB", secrets("b"), after(10)));
  std::vector<BrowserSession> kept = before.sessions();
  kept.push_back(
      {.guest = kAna, .secrets = secrets("old"), .used_at = after(std::int64_t{-13} * 3600)});
  BrowserSessions sessions;
  sessions.restore(std::move(kept), after(20));
  EXPECT_EQ(sessions.guest_of("cookie-a", "key-a", after(20)), kAna);
  EXPECT_EQ(sessions.guest_of("cookie-b", "key-b", after(20)), kBen);
  EXPECT_FALSE(sessions.opens_page("cookie-old", after(20)));
}

TEST(BrowserSessions, AreKeptAsTheyWere) {
  BrowserSessions before;
  before.add_code("AAAA", kAna, kStart);
  before.add_code("BBBB", kBen, kStart);
  ASSERT_TRUE(before.redeem("AAAA", secrets("a"), kStart));
  ASSERT_TRUE(before.redeem("BBBB", secrets("b"), kStart));
  const auto kept = decode_kept_sessions(encode_kept_sessions(before.sessions()));
  ASSERT_TRUE(kept.ok());
  BrowserSessions sessions;
  sessions.restore(*kept, kStart);
  EXPECT_EQ(sessions.guest_of("cookie-a", "key-a", kStart), kAna);
  EXPECT_EQ(sessions.guest_of("cookie-b", "key-b", kStart), kBen);
  EXPECT_TRUE(decode_kept_sessions("")->empty());
}

TEST(BrowserSessions, LinesThatAreNoneAreRefusedByTheirNumber) {
  for (const char* line : {"x act 1 a b", "1 may 1 a b", "1 act x a b", "1 act 1 a",
                           "1 act 1 a b c", "1 act 1  b", "", "-1 act 1 a b", "1 act 1 a;b c"}) {
    const auto read = decode_kept_sessions("7 look 5 cookie key\n" + std::string(line) + "\n");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_EQ(read.error().message, "line 2 is no session");
  }
}

TEST(BrowserSessions, CodesHaveSixtyBitsThatAPersonCanType) {
  EXPECT_EQ(code_of(0), "0000-0000-0000");
  EXPECT_EQ(code_of(~std::uint64_t{0}), "ZZZZ-ZZZZ-ZZZZ");
  EXPECT_NE(code_of(std::uint64_t{1} << 59U), code_of(0));
  EXPECT_EQ(code_of(std::uint64_t{1} << 60U), code_of(0));
}

}  // namespace
}  // namespace berth::wire
