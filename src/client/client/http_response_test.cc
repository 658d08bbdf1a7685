// SPDX-License-Identifier: Apache-2.0
#include "client/http_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth::client {
namespace {

constexpr std::size_t kBodyMax = 64;

struct Read {
  std::string body;
  int status = 0;
  bool complete = false;
  std::size_t used = 0;
};

// Feeds the text in pieces of that size.
Result<Read> read_in_pieces(std::string_view text, std::size_t piece) {
  ResponseReader reader(kBodyMax);
  Read read;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    TRY(used, reader.feed(text.substr(at, piece)));
    read.used += used;
    read.body += reader.take_body();
    if (reader.complete()) break;
  }
  read.status = reader.head().status;
  read.complete = reader.complete();
  return read;
}

TEST(HttpResponse, AnswerIsTheSameHoweverItIsSplit) {
  const std::string counted = "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX: y\r\n\r\nhello";
  const std::string chunked =
      "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\nhe\r\n3;name=value\r\nllo\r\n0\r\nTrailer: x\r\n\r\n";
  for (const std::string& text : {counted, chunked}) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      const Result<Read> read = read_in_pieces(text, piece);
      ASSERT_TRUE(read.ok()) << piece << ": " << read.error().message;
      EXPECT_TRUE(read->complete) << piece;
      EXPECT_EQ(read->status, 201);
      EXPECT_EQ(read->body, "hello");
      EXPECT_EQ(read->used, text.size());
    }
  }
}

TEST(HttpResponse, AnythingShortOfTheWholeIsNotComplete) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\n\r\n";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Result<Read> read = read_in_pieces(text.substr(0, length), 1'000);
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->complete) << length;
  }
}

TEST(HttpResponse, BytesAfterTheAnswerAreNotTaken) {
  ResponseReader reader(kBodyMax);
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const Result<std::size_t> used = reader.feed(answer + "HTTP/1.1 200 OK\r\n");
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(*used, answer.size());
}

TEST(HttpResponse, HeadTellsWhatTheClientActsOn) {
  ResponseReader reader(kBodyMax);
  ASSERT_TRUE(reader
                  .feed("HTTP/1.1 200 OK\r\ncontent-TYPE: Text/Event-Stream; charset=utf-8\r\n"
                        "berth-hello:  api=1.0; version=0.1.0 \r\nConnection: Close\r\n"
                        "Content-Length: 0\r\n\r\n")
                  .ok());
  EXPECT_EQ(reader.head().content_type, "text/event-stream");
  EXPECT_EQ(reader.head().hello, "api=1.0; version=0.1.0");
  EXPECT_FALSE(reader.head().keeps_alive);
  EXPECT_TRUE(reader.complete());
}

TEST(HttpResponse, WhatIsNoAnswerIsAnErrorAndNeverABody) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string chunks = head + "Transfer-Encoding: chunked\r\n\r\n";
  const std::vector<std::string> broken = {
      "GET / HTTP/1.1\r\n\r\n",
      "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 -20 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      head + "\r\n",
      head + "no field\r\n\r\n",
      head + ": nameless\r\n\r\n",
      head + "Content-Length: -1\r\n\r\n",
      head + "Content-Length: 0x10\r\n\r\n",
      head + "Content-Length: 99999999999999999999999\r\n\r\n",
      head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
      head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      head + "Transfer-Encoding: gzip\r\n\r\n",
      chunks + "xyz\r\n",
      chunks + "-1\r\n",
      chunks + "\r\n",
      chunks + "123456789\r\n",
      chunks + "2\nhe\r\n",
      chunks + "2\r\nhello\r\n",
      chunks + std::string(ResponseReader::kChunkLineMax + 1, '0'),
      chunks + "0\r\n" + std::string(ResponseReader::kHeadMax * 2, 'a'),
  };
  for (const std::string& text : broken) {
    const Result<Read> read = read_in_pieces(text, 7);
    ASSERT_FALSE(read.ok()) << text.substr(0, 200);
    EXPECT_EQ(read.error().code, Errc::kCorrupt);
  }
}

TEST(HttpResponse, EndlessHeadIsCutOff) {
  for (const std::size_t piece : {1UL, 1'000UL, 1'000'000UL}) {
    const Result<Read> read =
        read_in_pieces("HTTP/1.1 200 OK\r\nX: " + std::string(1'000'000, 'a'), piece);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message, testing::HasSubstr("head is too long"));
  }
}

TEST(HttpResponse, BodyLargerThanAllowedIsRefused) {
  const std::string large(kBodyMax + 1, 'a');
  const std::string counted = "HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n" + large;
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n41\r\n" + large + "\r\n0\r\n\r\n";
  for (const std::string& text : {counted, chunked}) {
    const Result<Read> read = read_in_pieces(text, text.size());
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, Errc::kFull);
  }
}

TEST(HttpResponse, StreamMayBeLongerThanTheBoundIfItIsTakenAsItComes) {
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) text += "a\r\n0123456789\r\n";
  const Result<Read> read = read_in_pieces(text, 20);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->body.size(), 1'000);
}

}  // namespace
}  // namespace berth::client
