// SPDX-License-Identifier: Apache-2.0
#include "wire/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "wire/limits.h"

namespace berth::wire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Hello, ReadsBackAsItWasWritten) {
  const ClientHello client = {
      .version = "0.1.0", .world = "real", .process = Process{.pid = 123, .start_ticks = 456789}};
  EXPECT_EQ(encode_hello(client), "api=1.0; version=0.1.0; world=real; pid=123; start=456789");
  const Result<ClientHello> read = decode_client_hello(encode_hello(client));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, client);

  const ServerHello server = {.version = "0.1.0", .world = "ci", .simulated = true, .pid = 7};
  EXPECT_EQ(encode_hello(server), "api=1.0; version=0.1.0; world=ci; simulated=1; pid=7");
  const Result<ServerHello> read_server = decode_server_hello(encode_hello(server));
  ASSERT_TRUE(read_server.ok()) << read_server.error().message;
  EXPECT_EQ(*read_server, server);
}

TEST(Hello, NameOfAWorldCannotForgeAnotherPart) {
  const ClientHello client = {.version = "1", .world = "a; pid=1\r\nX: y", .process = {}};
  const std::string header = encode_hello(client);
  EXPECT_EQ(header.find_first_of("\r\n"), std::string::npos);
  const Result<ClientHello> read = decode_client_hello(header);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, client);
}

TEST(Hello, LongestPartsStillFit) {
  const std::string longest(limits::kHelloPartMax, '\x01');
  const ClientHello client = {
      .version = longest, .world = longest, .process = Process{INT32_MAX, UINT64_MAX}};
  EXPECT_LE(encode_hello(client).size(), limits::kHelloMax);
  EXPECT_TRUE(decode_client_hello(encode_hello(client)).ok());
}

TEST(Hello, OfANewerSideMaySayMore) {
  const Result<ClientHello> read = decode_client_hello("mood=fine;  api=2.7 ;version=9");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->api, (ApiVersion{2, 7}));
  EXPECT_EQ(read->process, std::nullopt);
}

TEST(Hello, WhatMakesNoSenseIsRefused) {
  for (const std::string& header :
       {std::string(""), std::string("api"), std::string("api=1"), std::string("api=1.x"),
        std::string("api=-1.0"), std::string("api=1.99999999999"), std::string("api=1.0; api=1.0"),
        std::string("api=1.0; world=%zz"), std::string("api=1.0; pid=5"),
        std::string("api=1.0; start=5"), std::string("api=1.0; pid=0; start=1"),
        std::string("api=1.0; pid=-3; start=1"), std::string("api=1.0; pid=3; start=1e3"),
        std::string("api=1.0; pid=99999999999; start=1"),
        "api=1.0; world=" + std::string(limits::kHelloPartMax + 1, 'x'),
        "api=1.0; " + std::string(limits::kHelloMax, ' ')}) {
    const Result<ClientHello> read = decode_client_hello(header);
    ASSERT_FALSE(read.ok()) << header;
    EXPECT_THAT(read.error().message, HasSubstr("Berth-Hello"));
  }
  EXPECT_FALSE(decode_server_hello("api=1.0; world=real").ok());
}

TEST(Versions, NeighboursWorkTogether) {
  struct Case {
    ApiVersion client, daemon;
    bool together;
  };
  for (const Case& c : {Case{{1, 0}, {1, 0}, true},
                        {{1, 0}, {1, 1}, true},
                        {{1, 1}, {1, 0}, true},
                        {{1, 0}, {1, 2}, false},
                        {{1, 4}, {1, 2}, false},
                        {{2, 0}, {1, 0}, false},
                        {{1, 0}, {2, 0}, false},
                        {{1, 4294967295}, {1, 0}, false}}) {
    const Status status = check_versions({c.client, "a"}, {c.daemon, "b"});
    EXPECT_EQ(status.ok(), c.together) << to_text(c.client) << ' ' << to_text(c.daemon);
  }
}

TEST(Versions, DifferenceNamesBothAndTheCure) {
  const Status older = check_versions({{1, 3}, "0.4.0"}, {{1, 1}, "0.2.0"});
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().code, Errc::kVersion);
  EXPECT_THAT(older.error().message, AllOf(HasSubstr("0.4.0"), HasSubstr("1.3"), HasSubstr("0.2.0"),
                                           HasSubstr("1.1"), HasSubstr("berth daemon stop")));
  const Status newer = check_versions({{1, 1}, "0.2.0"}, {{2, 0}, "1.0.0"});
  ASSERT_FALSE(newer.ok());
  EXPECT_THAT(newer.error().message, HasSubstr("use the berth that belongs to the daemon"));
}

TEST(Worlds, MustBeTheSame) {
  EXPECT_TRUE(check_worlds("real", "real").ok());
  EXPECT_TRUE(check_worlds("ci", "ci").ok());
  const Status simulated_client = check_worlds("ci", "real");
  ASSERT_FALSE(simulated_client.ok());
  EXPECT_THAT(simulated_client.error().message,
              HasSubstr("BERTH_SIM is set here; this daemon has real GPUs"));
  const Status real_client = check_worlds("real", "ci");
  ASSERT_FALSE(real_client.ok());
  EXPECT_THAT(real_client.error().message,
              AllOf(HasSubstr("simulated GPUs 'ci'"), HasSubstr("you asked for real GPUs")));
  EXPECT_FALSE(check_worlds("a", "b").ok());
}

}  // namespace
}  // namespace berth::wire
