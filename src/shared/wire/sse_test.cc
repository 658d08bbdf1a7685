// SPDX-License-Identifier: Apache-2.0
#include "wire/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "wire/limits.h"

namespace berth::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<SseEvent> read(std::string_view text) {
  SseReader reader;
  const Result<std::vector<SseEvent>> events = reader.feed(text);
  EXPECT_TRUE(events.ok());
  return events.ok() ? *events : std::vector<SseEvent>{};
}

TEST(Sse, EventIsWrittenAsTheStandardHasIt) {
  EXPECT_EQ(encode_event({.event = "granted", .id = "7", .data = "{\"id\":1}"}),
            "event: granted\nid: 7\ndata: {\"id\":1}\n\n");
  EXPECT_EQ(encode_event({.data = "a\nb"}), "data: a\ndata: b\n\n");
  EXPECT_EQ(encode_event({}), "data: \n\n");
}

TEST(Sse, ReadsBackAsItWasWritten) {
  for (const SseEvent& event : {SseEvent{.event = "lease", .id = "1", .data = "{}"},
                                SseEvent{.event = "waiting", .id = "2", .data = ""},
                                SseEvent{.event = "x", .id = "3", .data = "\n a\n\n:b"}}) {
    EXPECT_THAT(read(encode_event(event)), ElementsAre(event));
  }
}

TEST(Sse, StreamMayBeSplitAnywhere) {
  const std::string stream =
      "\xEF\xBB\xBF: hello\r\n\r\nevent: a\ndata: 1\n\n: \n\nid: 9\r\ndata:2\r\ndata:  3\r\n\r\n"
      "event: b\rdata: 4\r\rretry: 5\ndata\n\nevent: never\ndata: cut off";
  const auto expected = ElementsAre(SseEvent{"a", "", "1"}, SseEvent{"message", "9", "2\n 3"},
                                    SseEvent{"b", "9", "4"}, SseEvent{"message", "9", ""});
  EXPECT_THAT(read(stream), expected);
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      SseReader reader;
      std::vector<SseEvent> all;
      for (const std::string& piece :
           {stream.substr(0, first), stream.substr(first, second - first), stream.substr(second)}) {
        const Result<std::vector<SseEvent>> events = reader.feed(piece);
        ASSERT_TRUE(events.ok());
        all.insert(all.end(), events->begin(), events->end());
      }
      ASSERT_THAT(all, expected) << first << ' ' << second;
    }
  }
}

TEST(Sse, CommentIsNoEvent) {
  EXPECT_THAT(read(kSseComment), IsEmpty());
  EXPECT_THAT(read("event: lonely\n\n"), IsEmpty());
}

TEST(Sse, EventWithoutEndIsRefused) {
  const std::string piece(100'000, 'x');
  SseReader reader;
  std::size_t fed = 0;
  while (true) {
    const Result<std::vector<SseEvent>> events = reader.feed(piece);
    fed += piece.size();
    if (!events.ok()) {
      EXPECT_EQ(events.error().code, Errc::kFull);
      break;
    }
    ASSERT_LE(fed, limits::kEventMax);
  }
  EXPECT_GT(fed, limits::kEventMax);
}

TEST(Sse, CommentsForAYearAreNoEventWithoutEnd) {
  SseReader reader;
  std::string hours;
  for (int i = 0; i < 10'000; ++i) hours += kSseComment;
  for (std::size_t fed = 0; fed < 2 * limits::kEventMax; fed += hours.size()) {
    ASSERT_TRUE(reader.feed(hours).ok());
  }
}

TEST(Sse, NamesOfEventsAreWords) {
  for (int i = 0; i <= static_cast<int>(EventName::kAudit); ++i) {
    const auto name = static_cast<EventName>(i);
    EXPECT_EQ(parse_word<EventName>(to_text(name)), name);
  }
  EXPECT_EQ(to_text(EventName::kOverBudget), "over_budget");
  EXPECT_EQ(to_text(EventName::kNotFull), "not_full");
  EXPECT_EQ(to_text(EventName::kFit), "fit");
  EXPECT_EQ(parse_word<EventName>("tomorrow"), std::nullopt);
}

}  // namespace
}  // namespace berth::wire
