// SPDX-License-Identifier: Apache-2.0
#include "cli/save/way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace berth::cli {
namespace {

using testing::HasSubstr;

template <class Way>
Way parsed(std::string_view text) {
  const Result<SaveWay> way = parse_save_way(text);
  if (!way.ok()) {
    ADD_FAILURE() << way.error().message;
    return {};
  }
  const Way* wanted = std::get_if<Way>(&*way);
  if (wanted == nullptr) {
    ADD_FAILURE() << text << " is another way";
    return {};
  }
  return *wanted;
}

std::string refused(std::string_view text) {
  const Result<SaveWay> way = parse_save_way(text);
  return way.ok() ? "taken" : way.error().message;
}

TEST(SaveWay, SignalsHaveTheirNames) {
  EXPECT_EQ(parsed<SignalWay>("signal:USR1").signal, SIGUSR1);
  EXPECT_EQ(parsed<SignalWay>("signal:SIGHUP").signal, SIGHUP);
  EXPECT_FALSE(parsed<SignalWay>("signal:USR1").all);
  EXPECT_EQ(parsed<SignalWay>("signal:USR1").files, "");
  EXPECT_THAT(refused("signal:USR9"), HasSubstr("there is no signal \"USR9\""));
  EXPECT_THAT(refused("signal:"), HasSubstr("there is no signal"));
  EXPECT_THAT(refused("signal:KILL"), HasSubstr("no program can catch"));
  EXPECT_EQ(signal_name(SIGUSR1), "SIGUSR1");
}

TEST(SaveWay, ASignalMayGoToAllAndBeConfirmedByFiles) {
  const auto way = parsed<SignalWay>("signal:USR2@all,file=out/a,b*.pt");
  EXPECT_EQ(way.signal, SIGUSR2);
  EXPECT_TRUE(way.all);
  EXPECT_EQ(way.files, "out/a,b*.pt");
  EXPECT_THAT(refused("signal:USR1,files=x"), HasSubstr("file=GLOB"));
  EXPECT_THAT(refused("signal:USR1,file="), HasSubstr("file=GLOB"));
}

TEST(SaveWay, ACommandIsTakenAsItStands) {
  EXPECT_EQ(parsed<CmdWay>("cmd:kill -USR1 $PPID; sync").line, "kill -USR1 $PPID; sync");
  EXPECT_THAT(refused("cmd:"), HasSubstr("the command is missing"));
  EXPECT_THAT(refused("cmd:  "), HasSubstr("the command is missing"));
}

TEST(SaveWay, AUrlHasHostPortAndPath) {
  const auto plain = parsed<HttpWay>("http://127.0.0.1:8000/save?now=1#x");
  EXPECT_EQ(plain.host, "127.0.0.1");
  EXPECT_EQ(plain.port, "8000");
  EXPECT_EQ(plain.target, "/save?now=1");
  EXPECT_EQ(parsed<HttpWay>("http:http://localhost").port, "80");
  EXPECT_EQ(parsed<HttpWay>("http:http://localhost").target, "/");
  EXPECT_EQ(parsed<HttpWay>("http://[::1]:81/x").host, "::1");
  EXPECT_EQ(parsed<HttpWay>("http://[::1]:81/x").port, "81");
  EXPECT_EQ(parsed<HttpWay>("http://h?q").target, "/?q");
  const auto local = parsed<HttpWay>("http:unix:/run/app.sock:/save");
  EXPECT_EQ(local.socket, "/run/app.sock");
  EXPECT_EQ(local.target, "/save");
  EXPECT_EQ(parsed<HttpWay>("http:unix:/run/app.sock").target, "/");
}

TEST(SaveWay, WhatIsNoUrlIsRefused) {
  for (const char* text : {"http://", "http://:80/", "http://h:0/", "http://h:65536/",
                           "http://h:8x/", "http://[::1/", "http://me:secret@h/"}) {
    EXPECT_THAT(refused(text), HasSubstr("no URL")) << text;
  }
  EXPECT_THAT(refused("http://h/a b"), HasSubstr("%20"));
  EXPECT_THAT(refused("http:unix:run"), HasSubstr("http:unix:/PATH"));
  EXPECT_THAT(refused("https://h/"), HasSubstr("https is not in this version"));
  EXPECT_THAT(refused("http:https://h/"), HasSubstr("https is not in this version"));
  EXPECT_THAT(refused("library:x"), HasSubstr("it is written"));
  for (const char* text : {"", "USR1", "http", "http:", "http:x", "//h/", "unix:/x"}) {
    EXPECT_THAT(refused(text), HasSubstr("it is written")) << text;
  }
}

TEST(SaveWay, LibraryIsToldToTheDaemonByName) {
  SaveOptions options;
  const Result<SaveWay> way = parse_save_way("library");
  ASSERT_TRUE(way.ok());
  options.way = *way;
  const auto told = checkpoint_way_of(options);
  ASSERT_TRUE(told.ok() && *told);
  EXPECT_EQ((*told)->kind, CheckpointKind::kLibrary);
}

TEST(SaveWay, OptionsMakeSenseTogetherOnly) {
  SaveOptions options;
  EXPECT_EQ(*checkpoint_way_of(options), std::nullopt);
  options.every = minutes(10);
  EXPECT_THAT(checkpoint_way_of(options).error().message, HasSubstr("needs --checkpoint"));
  options.way = HttpWay{};
  options.grace = seconds(5);
  const CheckpointWay expected{
      .kind = CheckpointKind::kHttp, .grace = seconds(5), .every = minutes(10)};
  EXPECT_EQ(*checkpoint_way_of(options), expected);
  options.way = SignalWay{};
  EXPECT_EQ((*checkpoint_way_of(options))->kind, CheckpointKind::kSignal);
  options.way = CmdWay{};
  EXPECT_EQ((*checkpoint_way_of(options))->kind, CheckpointKind::kCmd);
  EXPECT_THAT(checkpoint_way_of({.way = {}, .grace = seconds(1), .every = {}}).error().message,
              HasSubstr("--grace"));
}

}  // namespace
}  // namespace berth::cli
