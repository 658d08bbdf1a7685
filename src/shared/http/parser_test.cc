// SPDX-License-Identifier: Apache-2.0
#include "http/parser.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::http {
namespace {

/// All bytes at once; what the parser left is put again, as the server does.
Status put_all(Parser& parser, std::string bytes) {
  while (!bytes.empty() && !parser.done()) {
    TRY(taken, parser.put(bytes));
    if (taken == 0) break;
    bytes.erase(0, taken);
  }
  return Unit{};
}

std::string many_extensions() {
  std::string chunks;
  for (int i = 0; i < 40; ++i) chunks += "1;" + std::string(4'000, 'a') + "\r\n \r\n";
  return chunks;
}

TEST(Parser, TakesARequestHoweverItIsSplit) {
  const std::string text =
      "POST /v1/leases HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
      "Berth-Hello: api=1.0\r\nContent-Length: 5\r\n\r\n{}   ";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    Parser parser;
    std::string waiting;
    for (const std::string& piece : {text.substr(0, cut), text.substr(cut)}) {
      waiting += piece;
      const Result<std::size_t> taken = parser.put(waiting);
      ASSERT_TRUE(taken.ok()) << "cut at " << cut << ": " << taken.error().message;
      waiting.erase(0, *taken);
    }
    while (!waiting.empty() && !parser.done()) {
      const Result<std::size_t> taken = parser.put(waiting);
      ASSERT_TRUE(taken.ok());
      waiting.erase(0, *taken);
    }
    ASSERT_TRUE(parser.done()) << "cut at " << cut;
    const Request request = parser.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/v1/leases");
    EXPECT_EQ(request.hello, "api=1.0");
    EXPECT_TRUE(request.wants_stream);
    EXPECT_TRUE(request.keep_alive);
    EXPECT_EQ(request.body, "{}   ");
  }
}

TEST(Parser, LeavesTheNextRequestAlone) {
  Parser parser;
  const std::string first = "GET /healthz HTTP/1.1\r\n\r\n";
  const Result<std::size_t> taken = parser.put(first + "GET /v1");
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(*taken, first.size());
  EXPECT_TRUE(parser.done());
}

TEST(Parser, OldClientsCloseAndReadNoStreams) {
  Parser parser;
  ASSERT_TRUE(parser.put("GET / HTTP/1.0\r\n\r\n").ok());
  const Request request = parser.take();
  EXPECT_FALSE(request.keep_alive);
  EXPECT_FALSE(request.chunks);
}

TEST(Parser, ClientThatWaitsToBeToldToGoOnIsRecognised) {
  Parser parser;
  ASSERT_TRUE(
      put_all(parser, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").ok());
  EXPECT_TRUE(parser.expects_continue());
  ASSERT_TRUE(parser.put("{}").ok());
  EXPECT_FALSE(parser.expects_continue());
}

struct Bad {
  const char* what;
  std::string text;
  Errc code;
};

TEST(Parser, WhatIsNoRequestOrTooLargeIsSaidSo) {
  const std::string long_field = "GET / HTTP/1.1\r\nA: " + std::string(17'000, 'a');
  const Bad table[] = {
      {"no HTTP", "hello there\r\n\r\n", Errc::kInvalid},
      {"bytes of another protocol", "\x16\x03\x01\x02\r\n\r\n", Errc::kInvalid},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\n", Errc::kInvalid},
      {"a length below 0", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", Errc::kInvalid},
      {"two lengths", "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
       Errc::kInvalid},
      {"a length that overflows", "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
       Errc::kInvalid},
      {"a field without end", long_field, Errc::kFull},
      {"a long field", long_field + "\r\n\r\n", Errc::kFull},
      {"a target without end", "GET /" + std::string(17'000, 'a'), Errc::kFull},
      {"a length above the bound", "POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", Errc::kFull},
      {"chunks above the bound",
       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n" + std::string(65'537, 'a') +
           "\r\n0\r\n\r\n",
       Errc::kFull},
      {"an extension of a chunk without end",
       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;" + std::string(17'000, 'a'),
       Errc::kFull},
      {"lines after the last chunk without end",
       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: " +
           std::string(17'000, 'a'),
       Errc::kFull},
      {"chunks that are nearly all extension",
       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + many_extensions(), Errc::kFull},
      {"another encoding", "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\n{}",
       Errc::kUnavailable},
      {"an encoding within chunks",
       "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}", Errc::kUnavailable},
      {"two encodings",
       "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}",
       Errc::kUnavailable},
      {"a chunk that is none", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       Errc::kInvalid},
  };
  for (const Bad& bad : table) {
    Parser parser;
    const Status status = put_all(parser, bad.text);
    ASSERT_FALSE(status.ok()) << bad.what;
    EXPECT_EQ(status.error().code, bad.code) << bad.what << ": " << status.error().message;
  }
}

TEST(Parser, BodyInChunksIsTakenWithItsExtensionsAndTrailers) {
  Parser parser;
  ASSERT_TRUE(put_all(parser,
                      "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"
                      "1;a=b\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n")
                  .ok());
  ASSERT_TRUE(parser.done());
  EXPECT_EQ(parser.take().body, "{}");
}

TEST(Parser, BodyAtTheBoundIsTaken) {
  Parser parser;
  const std::string body(Parser::kBodyMax, ' ');
  ASSERT_TRUE(put_all(parser, "POST / HTTP/1.1\r\nContent-Length: 65536\r\n\r\n" + body).ok());
  ASSERT_TRUE(parser.done());
  EXPECT_EQ(parser.take().body.size(), body.size());
}

}  // namespace
}  // namespace berth::http
