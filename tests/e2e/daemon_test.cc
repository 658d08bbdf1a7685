// SPDX-License-Identifier: Apache-2.0
// berthd as a process: how it starts, stops, dies and comes back, and what it does when the machine
// gives it less than it needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "http.h"
#include "world.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kTryLater = 75;
constexpr int kConfig = 78;
constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

class DaemonTest : public ::testing::Test {
 protected:
  /// Starts one in the foreground and waits until it listens.
  Program daemon(const std::vector<std::string>& options = {}) {
    std::vector<std::string> command = {"berthd", "--foreground"};
    command.insert(command.end(), options.begin(), options.end());
    Program program = world_.start(command);
    EXPECT_TRUE(program.says("listens at")) << program.err();
    return program;
  }
  fs::path runtime() const { return world_.directory() / "run" / "sim" / name(); }
  fs::path socket() const { return runtime() / "berthd.sock"; }
  fs::path state() const {
    for (const auto& entry : fs::directory_iterator(world_.directory() / "state" / "berth")) {
      return entry.path() / "sim" / name();
    }
    return {};
  }
  Http connect() const { return Http(socket()); }
  std::string name() const {
    const std::string directory = world_.directory();
    return directory.substr(directory.find('.') + 1);
  }
  /// Asks until the daemon's word holds. What it waits for happens within a sample or two.
  static bool until(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  /// A process that stands for a command, and the lease that it holds.
  struct Holder {
    Program command;
    json lease;
  };
  Holder hold(std::uint64_t bytes) {
    Http requester = connect();
    json lease = requester.post("/v1/leases", {{"vram_bytes", bytes}}).json();
    Program command = world_.start({"sleep", "1000"});
    const json process = {{"pid", command.pid()}, {"start_ticks", start_ticks(command.pid())}};
    const Reply claimed =
        requester.post("/v1/leases/" + lease.value("handle", "") + "/claim", process);
    EXPECT_EQ(claimed.status, 200) << claimed.body;
    return {std::move(command), claimed.json()};
  }
  static std::uint64_t start_ticks(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string word;
    for (int field = 3; field <= 22; ++field) fields >> word;
    return std::stoull(word);
  }
  bool has_devices() { return connect().get("/v1/status").json()["devices"].size() == 1; }
  std::string state_of(std::uint64_t id) {
    return connect().get("/v1/leases/" + std::to_string(id)).json().value("state", "");
  }
  std::vector<std::uint64_t> queue() {
    std::vector<std::uint64_t> ids;
    const json answer = connect().get("/v1/queue").json();
    for (const json& item : answer["items"]) ids.push_back(item["id"]);
    return ids;
  }

  World world_;
};

// Starting and stopping.

TEST_F(DaemonTest, AnswersWhatCurlWouldAsk) {
  const Program running = daemon();
  Http http = connect();
  EXPECT_EQ(http.get("/healthz").body, R"({"status":"ok"})");
  const json daemon = http.get("/v1/daemon").json();
  EXPECT_EQ(daemon["pid"], running.pid());
  EXPECT_EQ(daemon["simulated"], true);
  const json status = http.get("/v1/status").json();
  ASSERT_EQ(status["devices"].size(), 1U) << "the first look waits for the first sample";
  EXPECT_EQ(status["devices"][0]["vram_total_bytes"], 16 * kGib);
}

TEST_F(DaemonTest, SocketAndDirectoriesAreItsUsersAlone) {
  const Program running = daemon();
  const auto mode = [](const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  };
  EXPECT_EQ(mode(socket()), 0600U);
  EXPECT_EQ(mode(runtime()), 0700U);
  EXPECT_EQ(mode(state()), 0700U);
}

TEST_F(DaemonTest, StopsInOrderWhenToldToAndTakesItsSocketAway) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Program running = daemon();
    running.send(signal);
    EXPECT_EQ(running.wait(), 0) << running.err();
    EXPECT_FALSE(fs::exists(socket()));
  }
  Program running = daemon();
  EXPECT_EQ(connect().post("/v1/daemon/stop").status, 200);
  EXPECT_EQ(running.wait(), 0);
}

TEST_F(DaemonTest, StartedByHandItGoesToTheBackgroundOnceItListens) {
  const Output started = world_.run({"berthd"});
  EXPECT_EQ(started.status, 0) << started.err;
  Http http = connect();
  ASSERT_TRUE(http.connected());
  const pid_t pid = http.get("/v1/daemon").json()["pid"];
  EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(pid) + "/cwd"), "/");
  EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(pid) + "/fd/0"), "/dev/null");
  EXPECT_EQ(fs::read_symlink("/proc/" + std::to_string(pid) + "/fd/2"), state() / "berthd.log");
  const Output again = world_.run({"berthd"});
  EXPECT_EQ(again.status, kTryLater);
  EXPECT_THAT(again.err, HasSubstr(std::to_string(pid))) << "says who is there";
}

TEST_F(DaemonTest, LogsShowsWhatItSaysLongAfterItsStartAndStartSaysWhyItDoesNot) {
  ASSERT_EQ(world_.run({"berth", "daemon", "start"}).status, 0);
  ASSERT_EQ(world_.run({"berth", "daemon", "reload"}).status, 0);
  EXPECT_THAT(world_.run({"berth", "daemon", "logs"}).out,
              AllOf(HasSubstr("listens at"), HasSubstr("the configuration was reloaded")));
  ASSERT_EQ(world_.run({"berth", "daemon", "stop"}).status, 0);

  std::ofstream(world_.directory() / "config" / "berth" / "config.toml") << "[gpu]\nreserv = 1\n";
  const Output refused = world_.run({"berth", "daemon", "start"});
  EXPECT_EQ(refused.status, 78);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("config.toml:2:"), HasSubstr("'reserve'")));
  EXPECT_THAT(world_.run({"berth", "daemon", "logs"}).out, HasSubstr("berthd stops"));
}

TEST_F(DaemonTest, ReaderOfItsLogMayGoAway) {
  const Program running = world_.start({"bash", "-c", "exec berthd --foreground 2> >(head -n1)"});
  ASSERT_TRUE(until([&] { return connect().connected(); }));
  for (int i = 0; i < 3; ++i) running.send(SIGHUP);  // Each makes it say a line.
  EXPECT_EQ(connect().get("/healthz").status, 200);
}

TEST_F(DaemonTest, ReadyIsWrittenWhereItIsWanted) {
  const Output output =
      world_.run({"bash", "-c", "coproc berthd --ready-fd 7 7>&1 >/dev/null; head -n1 <&$COPROC"});
  EXPECT_EQ(output.out, "ready\n") << output.err;
}

TEST_F(DaemonTest, ManagerHandsItTheSocketAndHearsThatItIsReady) {
  const fs::path notify = world_.directory() / "notify";
  const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, notify.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(manager, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  world_.environment()["NOTIFY_SOCKET"] = notify;
  const std::string path = world_.directory() / "handed";
  Program running =
      world_.start({"python3", "-c",
                    "import os, socket\n"
                    "s = socket.socket(socket.AF_UNIX); s.bind('" +
                        path +
                        "'); s.listen()\n"
                        "os.dup2(s.fileno(), 3); os.set_inheritable(3, True)\n"
                        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\n"
                        "os.execvp('berthd', ['berthd', '--foreground'])\n"});
  ASSERT_TRUE(running.says("listens at " + path)) << running.err();
  EXPECT_EQ(Http(path).get("/healthz").status, 200);
  std::vector<char> text(256);
  const auto heard = [&] {
    const ssize_t count = recv(manager, text.data(), text.size(), 0);
    return std::string(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0U);
  };
  EXPECT_THAT(heard(), HasSubstr("READY=1"));
  running.send(SIGHUP);
  EXPECT_THAT(heard(), HasSubstr("RELOADING=1"));
  EXPECT_THAT(heard(), HasSubstr("READY=1"));
  running.send(SIGTERM);
  EXPECT_THAT(heard(), HasSubstr("STOPPING=1"));
  EXPECT_EQ(running.wait(), 0);
  EXPECT_TRUE(fs::exists(path)) << "the manager's socket is not the daemon's to take away";
  close(manager);
}

// Configuration.

TEST_F(DaemonTest, WrongConfigurationIsRejectedAsAWholeWithLineAndColumn) {
  const fs::path file = world_.directory() / "config/berth/config.toml";
  std::ofstream(file) << "[gpu]\nreserv = \"1GiB\"\n";
  const Output refused = world_.run({"berthd", "--foreground"});
  EXPECT_EQ(refused.status, kConfig);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(file.string() + ":2:"), HasSubstr("reserve")));

  std::ofstream(file) << "[gpu]\nreserve = \"1GiB\"\n";
  Program running = daemon();
  const auto reserve = [&] {
    const json devices = connect().get("/v1/devices").json();
    return devices["items"].empty() ? json() : devices["items"][0]["vram_reserve_bytes"];
  };
  EXPECT_EQ(reserve(), kGib);
  std::ofstream(file) << "[gpu]\nreserve = \"2GiB\"\n[policy]\norder = \"best\"\n";
  running.send(SIGHUP);
  EXPECT_TRUE(running.says("policy.order"));
  EXPECT_EQ(reserve(), kGib) << "not even the part that was right";
  const Reply told = connect().post("/v1/daemon/reload");
  EXPECT_EQ(told.status, 400);
  EXPECT_THAT(told.message(), HasSubstr(":4:"));
  std::ofstream(file) << "[gpu]\nreserve = \"2GiB\"\n";
  EXPECT_EQ(connect().post("/v1/daemon/reload").status, 200);
  EXPECT_EQ(reserve(), 2 * kGib);
}

TEST_F(DaemonTest, ConfigurationThatOthersMayWriteIsRefused) {
  const fs::path file = world_.directory() / "config/berth/config.toml";
  std::ofstream(file) << "[gpu]\n";
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  const Output refused = world_.run({"berthd", "--foreground"});
  EXPECT_EQ(refused.status, kConfig);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(file.string()), HasSubstr("chmod go-w")));
}

// Two of them.

TEST_F(DaemonTest, OneStateDirectoryHasOneDaemon) {
  const Program first = daemon();
  const Output second =
      world_.run({"berthd", "--foreground", "--socket", world_.directory() / "other.sock"});
  EXPECT_EQ(second.status, kTryLater);
  EXPECT_THAT(second.err, HasSubstr(std::to_string(first.pid())));
  EXPECT_EQ(connect().get("/healthz").status, 200);
}

TEST_F(DaemonTest, OneSocketHasOneDaemon) {
  const Program first = daemon();
  const Output second =
      world_.run({"berthd", "--foreground", "--state-dir", world_.directory() / "other"});
  EXPECT_EQ(second.status, kTryLater);
  EXPECT_THAT(second.err,
              AllOf(HasSubstr(socket().string()), HasSubstr(std::to_string(first.pid()))));
  EXPECT_EQ(connect().get("/healthz").status, 200);
}

TEST_F(DaemonTest, OneDeviceHasOneDaemonAndPassesOnWhenItEnds) {
  Program first = daemon();
  ASSERT_TRUE(has_devices());
  const fs::path second_socket = world_.directory() / "second.sock";
  const Program second =
      daemon({"--socket", second_socket, "--state-dir", world_.directory() / "second"});
  Http http(second_socket);
  const json status = http.get("/v1/status").json();
  EXPECT_THAT(status["devices"], IsEmpty());
  EXPECT_THAT(status.value("trouble", ""),
              AllOf(HasSubstr("pid " + std::to_string(first.pid())), HasSubstr("coordinated")));
  const Reply refused = http.post("/v1/leases", {{"vram_bytes", kGib}});
  EXPECT_EQ(refused.error(), "no_device") << refused.body;
  EXPECT_THAT(refused.message(), HasSubstr(socket().string())) << "where to ask";

  first.send(SIGKILL);
  (void)first.wait();
  EXPECT_TRUE(until([&] { return http.get("/v1/devices").json()["items"].size() == 1; }));
  EXPECT_EQ(http.post("/v1/leases", {{"vram_bytes", kGib}}).status, 201);
}

TEST_F(DaemonTest, SocketPathThatIsTooLongIsSaidSoWithTheCure) {
  world_.environment()["BERTH_RUNTIME_DIR"] = world_.directory() / std::string(100, 'd');
  const Output output = world_.run({"berthd", "--foreground"});
  EXPECT_EQ(output.status, kConfig);
  EXPECT_THAT(output.err, AllOf(HasSubstr("107"), HasSubstr("BERTH_RUNTIME_DIR")));
}

// Death.

TEST_F(DaemonTest, KilledDaemonLosesNoLeaseAndNoPlaceInTheQueue) {
  std::optional<Program> running(daemon());
  const Holder holder = hold(12 * kGib);
  std::vector<Program> requesters;
  for (int i = 0; i < 3; ++i) {
    // Requests wait as long as their requesters live.
    requesters.push_back(world_.start({"berth", "run", "-m", "8G", "--", "sleep", "1000"}));
    ASSERT_TRUE(until([&] { return queue().size() == static_cast<std::size_t>(i) + 1; }));
  }
  running->send(SIGKILL);
  (void)running->wait();
  running.emplace(daemon());
  EXPECT_EQ(state_of(1), "held");
  EXPECT_EQ(connect().get("/v1/leases/1").json()["pid"], holder.command.pid());
  EXPECT_THAT(queue(), ElementsAre(2, 3, 4));
  holder.command.send(SIGKILL);
  EXPECT_TRUE(until([&] { return state_of(2) == "held"; })) << "who was first is first";
  EXPECT_TRUE(until([&] { return queue() == std::vector<std::uint64_t>({3, 4}); }));
}

TEST_F(DaemonTest, HolderThatDiedWhileNoDaemonRanHoldsNothing) {
  std::optional<Program> running(daemon());
  Holder holder = hold(12 * kGib);
  running->send(SIGTERM);
  EXPECT_EQ(running->wait(), 0);
  EXPECT_FALSE(holder.command.ended()) << "jobs go on without a daemon";
  holder.command.send(SIGKILL);
  (void)holder.command.wait();
  running.emplace(daemon());
  EXPECT_TRUE(until([&] { return state_of(1) == "ended"; }));
  EXPECT_EQ(connect().post("/v1/leases", {{"vram_bytes", 12 * kGib}}).status, 201);
}

TEST_F(DaemonTest, MemoryOfAKilledHolderIsGrantedOn) {
  const Program running = daemon();
  Holder holder = hold(12 * kGib);
  Http next = connect();
  EXPECT_EQ(next.post("/v1/leases", {{"vram_bytes", 12 * kGib}}).json()["state"], "waiting");
  holder.command.send(SIGKILL);
  EXPECT_TRUE(until([&] { return state_of(2) == "held"; }));
  EXPECT_TRUE(until([&] { return state_of(1) == "ended"; }));
}

TEST_F(DaemonTest, DaemonThatDiesAtEachStartComesUpInSafeMode) {
  {
    Program running = daemon();
    (void)hold(kGib);
    running.send(SIGTERM);
    (void)running.wait();
  }
  for (int i = 0; i < 2; ++i) {
    Program dies = daemon();
    dies.send(SIGKILL);
    (void)dies.wait();
  }
  const Program running = daemon();
  Http http = connect();
  EXPECT_EQ(http.get("/v1/daemon").json()["journal"]["safe_mode"], true);
  const Reply refused = http.post("/v1/leases", {{"vram_bytes", kGib}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error(), "safe_mode");
}

// Less than it needs.

TEST_F(DaemonTest, MoreConnectionsThanDescriptorsLoseNoLease) {
  const Program running = world_.start({"bash", "-c", "ulimit -n 512; exec berthd --foreground"});
  ASSERT_TRUE(until([&] { return connect().connected(); }));
  const Holder holder = hold(8 * kGib);
  std::vector<Http> crowd;
  int told = 0;
  for (int i = 0; i < 400; ++i) {
    crowd.push_back(connect());
    ASSERT_TRUE(crowd.back().connected()) << i;
  }
  for (Http& http : crowd) {
    const Reply reply = http.get("/healthz");
    if (reply.status == 200) continue;
    ++told;
    if (reply.status == 0) continue;  // Cut off: beyond those that are told why.
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.error(), "too_many_connections");
    EXPECT_THAT(reply.message(), AllOf(HasSubstr("512"), HasSubstr("LimitNOFILE")));
  }
  EXPECT_GE(told, 400 - 256);
  EXPECT_LT(told, 400 - 200);
  crowd.clear();
  EXPECT_TRUE(until([&] { return connect().get("/healthz").status == 200; }));
  EXPECT_EQ(state_of(1), "held");
}

TEST_F(DaemonTest, DriverThatHangsStallsNoLease) {
  const Program running = daemon();
  ASSERT_TRUE(has_devices());
  const Holder holder = hold(4 * kGib);
  ASSERT_EQ(world_.run({"berth-simctl", "nvml-hang", "60s"}).status, 0);
  const auto begin = std::chrono::steady_clock::now();
  Http http = connect();
  EXPECT_EQ(http.post("/v1/leases", {{"vram_bytes", 4 * kGib}}).json()["state"], "held");
  EXPECT_EQ(http.get("/v1/status").status, 200);
  EXPECT_EQ(http.post("/v1/leases/1/resize", {{"vram_bytes", 2 * kGib}}).status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_TRUE(
      until([&] { return connect().get("/v1/daemon").json()["probe"]["state"] == "stale"; }));
  ASSERT_EQ(world_.run({"berth-simctl", "nvml-hang", "0"}).status, 0);
}

TEST_F(DaemonTest, MachineWithoutADriverIsANormalCase) {
  world_.environment()["BERTH_SIM"] = "0x16GiB";
  const Program running = daemon();
  const json status = connect().get("/v1/status").json();
  EXPECT_THAT(status["devices"], IsEmpty());
  EXPECT_THAT(status.value("trouble", ""), ::testing::Not(IsEmpty()));
  const Reply refused = connect().post("/v1/leases", {{"vram_bytes", kGib}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error(), "no_device");
}

}  // namespace
}  // namespace berth::e2e
