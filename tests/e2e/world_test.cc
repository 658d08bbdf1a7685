// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace berth::e2e {
namespace {

TEST(World, ProgramsRunInIt) {
  World world({.sim = "2x8GiB", .config = "[gpu]\n"});
  const Output output =
      world.run({"bash", "-c", "cat; echo $BERTH_SIM; cat ../config/berth/config.toml >&2; exit 7"},
                "read\n");
  EXPECT_EQ(output.status, 7);
  EXPECT_EQ(output.out, "read\n2x8GiB\n");
  EXPECT_EQ(output.err, "[gpu]\n");
  EXPECT_EQ(world.run({"no-such-program"}).status, 127);
}

TEST(World, AllOfALongOutputIsRead) {
  World world;
  const Output output = world.run({"bash", "-c", "head -c 1000000 /dev/zero; echo end >&2"});
  EXPECT_EQ(output.out.size(), 1'000'000u);
  EXPECT_EQ(output.err, "end\n");
}

TEST(World, AProgramIsHeardAndSpokenTo) {
  World world;
  Program program = world.start({"bash", "-c", "echo ready; read -r word; echo \"got $word\""});
  EXPECT_TRUE(program.says("ready"));
  EXPECT_FALSE(program.ended());
  program.type("text\n");
  EXPECT_TRUE(program.says("got text"));
  EXPECT_FALSE(program.says("more"));
  EXPECT_EQ(program.wait(), 0);
}

TEST(World, ADeathBySignalReadsAsInAShell) {
  World world;
  Program program = world.start({"sleep", "1000"});
  program.send(SIGTERM);
  EXPECT_EQ(program.wait(), 128 + SIGTERM);
}

TEST(World, ATerminalPassesKeysOn) {
  World world;
  Program program = world.start_in_terminal({"bash", "-c", "tty; echo ready; sleep 1000"});
  EXPECT_TRUE(program.says("ready"));
  EXPECT_TRUE(program.says("/dev/pts/"));
  program.type("\x03");
  EXPECT_EQ(program.wait(), 128 + SIGINT);
}

TEST(World, WhatWasStartedInItEndsWithIt) {
  std::filesystem::path directory;
  int pid = 0;
  {
    World world;
    directory = world.directory();
    const Output output = world.run({"bash", "-c",
                                     "trap '' TERM; setsid --fork sleep 31415926 >&- 2>&-; until "
                                     "pgrep -x -f 'sleep 31415926'; do :; done"});
    pid = std::stoi(output.out);
    EXPECT_EQ(world.processes(), std::vector{pid});
  }
  // Dead, though perhaps not yet taken note of by its parent.
  std::ifstream environment("/proc/" + std::to_string(pid) + "/environ");
  EXPECT_EQ(environment.peek(), std::ifstream::traits_type::eof());
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace berth::e2e
