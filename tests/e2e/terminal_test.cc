// SPDX-License-Identifier: Apache-2.0
// `berth run` in a terminal, under a shell with job control: what is typed reaches the command as
// if nobody stood between, and the shell sees a job like any other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "world.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

constexpr std::string_view kCtrlC = "\x03";
constexpr std::string_view kCtrlD = "\x04";
constexpr std::string_view kCtrlZ = "\x1a";

/// A program for the tests: says what reaches it, line by line and signal by signal. Its signals
/// are written to a pipe one by one as they arrive: two of them soon after another call a handler
/// of Python's once.
constexpr std::string_view kTeller = R"(
import os, select, signal, sys
arrived, written = os.pipe()
os.set_blocking(written, False)
signal.set_wakeup_fd(written)
for name in ('INT', 'WINCH', 'CONT', 'TERM'):
    signal.signal(getattr(signal, 'SIG' + name), lambda *_: None)
count = {}
os.write(1, b'teller ready\n')
while True:
    ready = select.select([arrived, 0], [], [])[0]
    for number in os.read(arrived, 64) if arrived in ready else b'':
        name = signal.Signals(number).name
        count[name] = count.get(name, 0) + 1
        size = os.get_terminal_size(0)
        os.write(1, f'{name} no. {count[name]} in {size.columns} x {size.lines}\n'.encode())
    if 0 in ready:
        line = os.read(0, 1000).decode().strip()
        if not line:
            sys.exit(7)
        os.write(1, f'heard {line.upper()}, {sorted(count.items())}\n'.encode())
)";

class TerminalTest : public ::testing::Test {
 protected:
  TerminalTest() {
    std::ofstream(world_.home() / "teller.py") << kTeller;
    world_.environment()["PS1"] = "[prompt]";
    // So that no line about it comes between.
    EXPECT_EQ(world_.run({"berth", "daemon", "start"}).status, 0);
  }

  /// An interactive shell without an editor of lines, which would paint over what is typed.
  Program shell() {
    Program shell =
        world_.start_in_terminal({"bash", "--norc", "--noprofile", "--noediting", "-i"});
    EXPECT_TRUE(shell.says_next("[prompt]")) << shell.out();
    return shell;
  }
  /// Types a line and reads over its echo.
  static void enter(Program& shell, const std::string& line) {
    shell.type(line + "\n");
    EXPECT_TRUE(shell.says_next(line + "\r\n")) << shell.out();
  }
  Program holder(const std::string& size) {
    Program holder = world_.start({"berth", "run", "-q", "-m", size, "-n", "holder", "--", "sh",
                                   "-c", "echo ready; exec sleep 1000"});
    EXPECT_TRUE(holder.says("ready")) << holder.err();
    return holder;
  }
  json lease(const std::string& name) {
    const Output shown = world_.run({"berth", "show", name, "--json"});
    return json::parse(shown.out, nullptr, false);
  }
  bool is(const std::string& name, const std::string& state, const json& flags = json::array()) {
    const json found = lease(name);
    // Before it is known, an error is shown instead.
    return found.is_object() && found.value("state", "") == state && found.at("flags") == flags;
  }
  static bool until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  World world_;
};

TEST_F(TerminalTest, CatReadsWhatIsTyped) {
  Program terminal = shell();
  enter(terminal, "berth run -q -m 1G -- sh -c 'echo re\"\"ady; exec cat'");
  ASSERT_TRUE(terminal.says_next("ready\r\n")) << terminal.out();
  enter(terminal, "some words");  // Its echo, and then what cat makes of it.
  EXPECT_TRUE(terminal.says_next("some words\r\n")) << terminal.out();
  terminal.type(kCtrlD);
  EXPECT_TRUE(terminal.says_next("[prompt]"));
  enter(terminal, "echo code=$?");
  EXPECT_TRUE(terminal.says_next("code=0\r\n")) << terminal.out();
}

TEST_F(TerminalTest, AViewerLeavesByAKeyAndTheTerminalIsAsItWas) {
  Program terminal = shell();
  enter(terminal, "stty -g >before");
  for (const auto& [key, code] :
       std::map<std::string_view, std::string>{{"q", "0"}, {kCtrlC, "130"}, {kCtrlZ, "148"}}) {
    enter(terminal, "berth status --watch=1h");
    ASSERT_TRUE(terminal.says_next("GPU 0")) << terminal.out();
    terminal.type("x");  // Any other shows it again.
    ASSERT_TRUE(terminal.says_next("GPU 0")) << terminal.out();
    terminal.type(key);
    ASSERT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
    enter(terminal, "echo code=$?");
    EXPECT_TRUE(terminal.says_next("code=" + code + "\r\n")) << terminal.out();
    enter(terminal, "stty -g >after; cmp before after && echo sa\"\"me");
    EXPECT_TRUE(terminal.says_next("same\r\n")) << terminal.out();
  }
  enter(terminal, "fg");
  ASSERT_TRUE(terminal.says_next("GPU 0")) << terminal.out();
  terminal.type("q");
  EXPECT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
}

TEST_F(TerminalTest, PagerReadsKeysAndLeavesTheTerminalAsItWas) {
  if (world_.run({"sh", "-c", "command -v less"}).status != 0) {
    GTEST_SKIP() << "less is not installed here: apt install less";
  }
  std::ofstream file(world_.home() / "lines");
  for (int i = 0; i < 1000; ++i) file << "line " << i << '\n';
  file.close();
  Program terminal = shell();
  enter(terminal, "stty -g >before");
  for (const std::string command : {"berth run -q -m 1G -- less -X lines",
                                    // The pager at the end of a pipe reads keys too.
                                    "berth run -q -m 1G -- cat lines | less -X"}) {
    enter(terminal, command);
    ASSERT_TRUE(terminal.says_next("line 0\r\n")) << terminal.out();
    terminal.type("G");
    ASSERT_TRUE(terminal.says_next("line 999\r\n")) << terminal.out();
    terminal.type("q");
    ASSERT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
  }
  enter(terminal, "stty -g >after; cmp before after && echo sa\"\"me");
  EXPECT_TRUE(terminal.says_next("same\r\n")) << terminal.out();
}

TEST_F(TerminalTest, PythonAsksForInput) {
  Program terminal = shell();
  enter(terminal, "berth run -q -m 1G -- python3 -c 'print(\"Hello\", input(\"na\" \"me? \"))'");
  ASSERT_TRUE(terminal.says_next("name? ")) << terminal.out();
  enter(terminal, "Ada");
  EXPECT_TRUE(terminal.says_next("Hello Ada\r\n")) << terminal.out();
}

// As a job of its own, and in the group of a script that started it.
TEST_F(TerminalTest, CtrlCReachesTheCommandOnce) {
  Program terminal = shell();
  for (const std::string command : {"berth run -q -m 1G -- python3 teller.py",
                                    "bash -c 'berth run -q -m 1G -- python3 teller.py; exit $?'"}) {
    enter(terminal, command);
    ASSERT_TRUE(terminal.says_next("teller ready\r\n")) << terminal.out();
    for (int i = 1; i <= 5; ++i) {
      terminal.type(kCtrlC);
      const std::string told = "SIGINT no. " + std::to_string(i) + " ";
      ASSERT_TRUE(terminal.says_next(told)) << terminal.out();
    }
    enter(terminal, "how many");
    EXPECT_TRUE(terminal.says_next("heard HOW MANY, [('SIGINT', 5)]\r\n")) << terminal.out();
    terminal.type(kCtrlD);
    EXPECT_TRUE(terminal.says_next("[prompt]"));
    enter(terminal, "echo code=$?");
    EXPECT_TRUE(terminal.says_next("code=7\r\n")) << terminal.out();
  }
}

// The kernel has told whom it concerns. Two signals soon after another may reach a program as one;
// a program that the kernel does not tell shows whether it is told a second time.
TEST_F(TerminalTest, WhatIsTypedIsNotPassedOn) {
  std::ofstream(world_.home() / "aside.py") << R"(
import os, signal, sys
os.setpgid(0, 0)  # As a shell makes a job of the background.
count = {'INT': 0, 'USR1': 0}
def told(number, frame):
    count[signal.Signals(number).name[3:]] += 1
    if number == signal.SIGUSR1:
        os.write(1, f'{count}\n'.encode())
signal.signal(signal.SIGINT, told)
signal.signal(signal.SIGUSR1, told)
os.write(1, f'supervisor {os.getppid()} end\n'.encode())
while True:
    signal.pause()
)";
  Program terminal = shell();
  enter(terminal, "bash -c 'berth run -q -m 1G -- python3 aside.py; exit $?'");
  ASSERT_TRUE(terminal.says_next(" end\r\n")) << terminal.out();
  const std::size_t at = terminal.out().rfind("supervisor ") + 11;
  const pid_t supervisor = std::stoi(terminal.out().substr(at));
  for (int i = 1; i <= 3; ++i) {
    terminal.type(kCtrlC);
    ASSERT_TRUE(terminal.says_next("^C")) << terminal.out();
    // Of two signals that wait the one with the lower number is taken first.
    kill(supervisor, SIGUSR1);
    const std::string told = "{'INT': 0, 'USR1': " + std::to_string(i) + "}\r\n";
    ASSERT_TRUE(terminal.says_next(told)) << terminal.out();
  }
}

TEST_F(TerminalTest, CtrlCEndsWhatDoesNotCatchItAsTheShellExpects) {
  Program terminal = shell();
  enter(terminal, "berth run -q -m 1G -n job -- sh -c 'echo re\"\"ady; exec sleep 1000'");
  ASSERT_TRUE(terminal.says_next("ready\r\n")) << terminal.out();
  terminal.type(kCtrlC);
  ASSERT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
  enter(terminal, "echo code=$?");
  EXPECT_TRUE(terminal.says_next("code=130\r\n")) << terminal.out();
  EXPECT_TRUE(until([&] { return is("job", "ended"); }));
  EXPECT_EQ(lease("job")["exit_signal"], SIGINT);
}

TEST_F(TerminalTest, CtrlZStopsAndFgGoesOn) {
  Program terminal = shell();
  enter(terminal, "berth run -q -m 1G -n job -- python3 teller.py");
  ASSERT_TRUE(terminal.says_next("teller ready\r\n")) << terminal.out();
  for (int i = 1; i <= 3; ++i) {
    terminal.type(kCtrlZ);
    ASSERT_TRUE(terminal.says_next("Stopped")) << terminal.out();
    ASSERT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
    EXPECT_TRUE(is("job", "held")) << "stopped, not ended";
    // The shell has the terminal: it reads this line, not the command.
    enter(terminal, "echo sh\"\"ell");
    ASSERT_TRUE(terminal.says_next("shell\r\n")) << terminal.out();
    enter(terminal, "fg");
    const std::string told = "SIGCONT no. " + std::to_string(i) + " ";
    ASSERT_TRUE(terminal.says_next(told)) << terminal.out();
    enter(terminal, "typed");
    ASSERT_TRUE(terminal.says_next("heard TYPED")) << terminal.out();
  }
  terminal.type(kCtrlD);
  EXPECT_TRUE(terminal.says_next("[prompt]"));
  enter(terminal, "echo code=$?");
  EXPECT_TRUE(terminal.says_next("code=7\r\n")) << terminal.out();
}

// Berth has stopped it, and not the shell: its job runs, and can be stopped and continued.
TEST_F(TerminalTest, AFrozenCommandIsNoStoppedJob) {
  Program terminal = shell();
  const auto pause = [&] {
    EXPECT_EQ(world_.run({"berth", "pause", "job", "--mode", "freeze"}).status, 0);
    EXPECT_TRUE(terminal.says_next("its processes are stopped")) << terminal.out();
  };
  const auto resume = [&] { EXPECT_EQ(world_.run({"berth", "resume", "job"}).status, 0); };
  const auto runs = [&](const std::string& told) {
    // Who says this has given the terminal back before.
    ASSERT_TRUE(terminal.says_next("has resumed")) << terminal.out();
    ASSERT_TRUE(terminal.says(told)) << terminal.out();
    enter(terminal, "typed");
    ASSERT_TRUE(terminal.says_next("heard TYPED")) << terminal.out();
  };
  enter(terminal, "berth run -m 1G -n job -- python3 teller.py");
  ASSERT_TRUE(terminal.says_next("teller ready\r\n")) << terminal.out();

  pause();
  resume();
  runs("SIGCONT no. 1 ");

  // The shell stops and continues it meanwhile, and nothing goes on for that.
  pause();
  terminal.type(kCtrlZ);
  ASSERT_TRUE(terminal.says_next("Stopped")) << terminal.out();
  enter(terminal, "echo sh\"\"ell");
  ASSERT_TRUE(terminal.says_next("shell\r\n")) << terminal.out();
  enter(terminal, "fg");
  ASSERT_TRUE(terminal.says_next("teller.py")) << terminal.out();  // The shell says what it is.
  resume();
  runs("SIGCONT no. 2 ");

  // What the shell has stopped meanwhile is the shell's to continue.
  pause();
  terminal.type(kCtrlZ);
  ASSERT_TRUE(terminal.says_next("Stopped")) << terminal.out();
  resume();
  enter(terminal, "echo sh\"\"ell");
  ASSERT_TRUE(terminal.says_next("shell\r\n")) << terminal.out();
  EXPECT_EQ(terminal.out().find("SIGCONT no. 3 "), std::string::npos);
  enter(terminal, "fg");
  runs("SIGCONT no. 3 ");

  // What is typed while it is frozen reaches it when it goes on.
  pause();
  terminal.type(kCtrlC);
  resume();
  ASSERT_TRUE(terminal.says_next("SIGINT no. 1 ")) << terminal.out();
  terminal.type(kCtrlD);
  EXPECT_TRUE(terminal.says_next("[prompt]"));
}

TEST_F(TerminalTest, StoppedJobGoesOnInTheBackground) {
  Program terminal = shell();
  enter(terminal,
        "berth run -q -m 1G -- bash -c 'echo re\"\"ady; until [[ -e go ]]; do sleep "
        "0.05; done; echo do\"\"ne'");
  ASSERT_TRUE(terminal.says_next("ready\r\n")) << terminal.out();
  terminal.type(kCtrlZ);
  ASSERT_TRUE(terminal.says_next("Stopped")) << terminal.out();
  ASSERT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
  enter(terminal, "bg");
  // What the shell says would come between the letters of the next line.
  ASSERT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
  enter(terminal, "touch go; wait; echo wai\"\"ted");
  EXPECT_TRUE(terminal.says_next("done\r\n")) << terminal.out();
  EXPECT_TRUE(terminal.says_next("waited\r\n")) << terminal.out();
}

TEST_F(TerminalTest, InTheBackgroundItRunsAndStopsOnlyToRead) {
  Program terminal = shell();
  enter(terminal, "berth run -q -m 1G -n job -- sh -c 'echo wri\"\"tten; cat; echo ca\"\"ught' &");
  ASSERT_TRUE(terminal.says_next("written\r\n")) << terminal.out();
  // It wants to read, and is stopped for it until it is brought to the front.
  ASSERT_TRUE(until([&] {
    enter(terminal, "jobs");
    return terminal.says_next("[prompt]") && terminal.out().find("Stopped") != std::string::npos;
  })) << terminal.out();
  EXPECT_TRUE(is("job", "held"));
  enter(terminal, "fg");
  ASSERT_TRUE(terminal.says_next("ught'")) << terminal.out();  // The shell says what it is.
  enter(terminal, "for cat");
  EXPECT_TRUE(terminal.says_next("for cat\r\n")) << terminal.out();
  terminal.type(kCtrlD);
  EXPECT_TRUE(terminal.says_next("caught\r\n")) << terminal.out();
}

TEST_F(TerminalTest, CommandHearsOfANewSizeOfTheWindow) {
  Program terminal = shell();
  enter(terminal, "berth run -q -m 1G -- python3 teller.py");
  ASSERT_TRUE(terminal.says_next("teller ready\r\n")) << terminal.out();
  terminal.resize_window(30, 120);
  EXPECT_TRUE(terminal.says_next("SIGWINCH no. 1 in 120 x 30\r\n")) << terminal.out();
  terminal.resize_window(50, 90);
  EXPECT_TRUE(terminal.says_next("SIGWINCH no. 2 in 90 x 50\r\n")) << terminal.out();
}

TEST_F(TerminalTest, CommandThatIsKilledLeavesTheTerminalAsItWas) {
  // bash -m gives each job the terminal, and mends nothing by itself.
  const std::string script =
      "stty -g >before; berth run -q -m 1G -- sh -c 'stty raw -echo; kill -9 $$'; stty -g >after; "
      "stty \"$(cat before)\"; cmp -s before after && echo as it was || echo raw";
  Program with_us = world_.start_in_terminal({"bash", "-m", "-c", script});
  EXPECT_TRUE(with_us.says_next("as it was\r\n")) << with_us.out();
  world_.environment()["BERTH_DISABLE"] = "1";
  Program without = world_.start_in_terminal({"bash", "-m", "-c", script});
  EXPECT_TRUE(without.says_next("raw\r\n")) << without.out();
}

// While it waits.

TEST_F(TerminalTest, WaitingLineIsOneLineThatIsWrittenOver) {
  const Program held = holder("10G");
  Program terminal = shell();
  enter(terminal, "berth run -m 8G -- true");
  ASSERT_TRUE(terminal.says_next("\r\x1b[Kberth: waiting, GPU 0: 5.5 GiB of 8.0 GiB free"))
      << terminal.out();
  EXPECT_EQ(world_.run({"berth", "cancel", "holder"}).status, 0);
  ASSERT_TRUE(terminal.says_next("\r\x1b[Kberth: granted GPU 0")) << terminal.out();
  EXPECT_TRUE(terminal.says_next("[prompt]"));
}

TEST_F(TerminalTest, CtrlCWhileItWaitsLeavesTheQueue) {
  const Program held = holder("10G");
  Program terminal = shell();
  enter(terminal, "berth run -m 8G -n next -- touch started");
  ASSERT_TRUE(terminal.says_next("waiting, GPU 0")) << terminal.out();
  EXPECT_TRUE(until([&] { return is("next", "waiting"); }));
  terminal.type(kCtrlC);
  ASSERT_TRUE(terminal.says_next("berth: left the queue")) << terminal.out();
  ASSERT_TRUE(terminal.says_next("[prompt]"));
  enter(terminal, "echo code=$?");
  EXPECT_TRUE(terminal.says_next("code=130\r\n")) << terminal.out();
  EXPECT_TRUE(until([&] { return is("next", "ended"); }));
  EXPECT_EQ(lease("next")["result"], "cancelled");
  EXPECT_FALSE(std::filesystem::exists(world_.home() / "started"));
}

TEST_F(TerminalTest, ARequeuedCommandHasTheTerminalAgain) {
  Program terminal = shell();
  enter(terminal, "berth run -q -m 10G -n asker --requeue -- sh -c 'echo re\"\"ady; exec cat'");
  ASSERT_TRUE(terminal.says_next("ready\r\n")) << terminal.out();
  EXPECT_EQ(world_.run({"berth", "requeue", "asker"}).status, 0);
  ASSERT_TRUE(terminal.says_next("ready\r\n")) << terminal.out();
  enter(terminal, "some words");
  EXPECT_TRUE(terminal.says_next("some words\r\n")) << terminal.out();
  Program other =
      world_.start({"berth", "run", "-q", "-m", "15G", "-n", "other", "--", "sleep", "1000"});
  ASSERT_TRUE(until([&] { return is("other", "waiting"); }));
  EXPECT_EQ(world_.run({"berth", "requeue", "asker"}).status, 0);
  terminal.type(kCtrlC);
  ASSERT_TRUE(terminal.says_next("[prompt]")) << terminal.out();
  enter(terminal, "echo code=$?");
  EXPECT_TRUE(terminal.says_next("code=130\r\n")) << terminal.out();
  EXPECT_TRUE(until([&] { return is("asker", "ended"); }));
}

TEST_F(TerminalTest, CtrlZWhileItWaitsParksAndFgReturnsToTheQueue) {
  Program held = holder("10G");
  Program terminal = shell();
  enter(terminal, "berth run -m 8G -n first -- sh -c 'echo sta\"\"rted'");
  ASSERT_TRUE(terminal.says_next("waiting, GPU 0")) << terminal.out();
  terminal.type(kCtrlZ);
  ASSERT_TRUE(terminal.says_next("Stopped")) << terminal.out();
  EXPECT_TRUE(until([&] { return is("first", "waiting", json::array({"parked"})); }))
      << lease("first");

  // Others go first, and it keeps its place before those that came later.
  Program second = world_.start({"berth", "run", "-m", "12G", "-n", "second", "--", "sh", "-c",
                                 "echo ready; exec sleep 1000"});
  ASSERT_TRUE(until([&] { return is("second", "waiting"); }));
  held.send(SIGTERM);
  ASSERT_TRUE(second.says("ready")) << second.err();
  EXPECT_TRUE(is("first", "waiting", json::array({"parked"}))) << lease("first");
  const Program third = world_.start({"berth", "run", "-m", "12G", "-n", "third", "--", "true"});
  ASSERT_TRUE(until([&] { return is("third", "waiting"); }));

  enter(terminal, "fg");
  EXPECT_TRUE(until([&] { return is("first", "waiting"); })) << lease("first");
  EXPECT_EQ(lease("first")["queue_position"], 1);
  second.send(SIGTERM);
  EXPECT_TRUE(terminal.says_next("started\r\n")) << terminal.out();
}

}  // namespace
}  // namespace berth::e2e
