// SPDX-License-Identifier: Apache-2.0
// Common parts of the tests of the guard: a world with a driver of some CUDA, the program that
// calls it, and the ways by which that comes to the driver.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "world.h"

namespace berth::e2e {

using nlohmann::json;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline const std::string kCaller = BERTH_BUILD_DIR "/bin/tests/cuda_caller";

/// The program that has this way to the driver.
inline std::string caller_by(const std::string& route) {
  if (route == "linked") return kCaller + "_linked";
  for (const char* escaping : {"deepbind", "dlmopen", "namespace", "second", "own_later"}) {
    if (route.starts_with(escaping)) return kCaller + "_escaping";
  }
  return kCaller;
}
/// In a sanitized build there is no audit, and no way past preloaded libraries.
inline bool can_audit() {
  return std::filesystem::exists(caller_by("dlmopen"));
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class GuardTest : public ::testing::Test {
 protected:
  explicit GuardTest(const std::string& cuda = "12.9", const std::string& devices = "1x16GiB")
      : world_({.sim = devices + ",context=64MiB,cuda=" + cuda,
                .config = "[gpu]\ncontext = \"32MiB\"\n"}) {}

  std::vector<std::string> lease(const std::string& budget,
                                 const std::vector<std::string>& command) const {
    std::vector<std::string> words = {"berth", "run",          "-q",  "-m",
                                      budget,  "--guard-mode", mode_, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  /// What the caller answers to these calls, under a lease.
  Output calls(const std::string& budget, const std::string& route, const std::string& text) const {
    return world_.run(lease(budget, {caller_by(route), route}), text);
  }
  json driver() const {
    return json::parse(world_.run({"berth-simctl", "show"}).out)["devices"][0];
  }
  /// The callers that run in this world.
  std::vector<pid_t> callers() const {
    std::vector<pid_t> found;
    for (const pid_t pid : world_.processes()) {
      std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
      std::string name;
      if (std::getline(in, name) && name == "cuda_caller") found.push_back(pid);
    }
    return found;
  }
  /// Those that still run are killed, and not the one that comes after them: it has not begun as
  /// long as there is no file `ended`.
  void kill_what_is_left(Program& running) const {
    while (!running.ended()) {
      const std::vector<pid_t> left = callers();
      if (std::filesystem::exists(world_.home() / "ended")) break;
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
    }
  }

  World world_;
  std::string mode_ = "auto";  // Of the guard.
};

/// A driver of another CUDA.
struct Cuda {
  std::string text;
  int number;
};
// Else the framework tells its bytes, which are others each time.
inline std::ostream& operator<<(std::ostream& out, const Cuda& cuda) {
  return out << cuda.text;
}
inline const Cuda kCudas[] = {
    {"11.0", 11000}, {"11.4", 11040}, {"12.0", 12000}, {"12.9", 12090}, {"13.0", 13000}};
constexpr int kWithPools = 11020;

class GuardCudaTest : public GuardTest, public ::testing::WithParamInterface<Cuda> {
 protected:
  GuardCudaTest() : GuardTest(GetParam().text) {}
};

/// Each way to each driver that has it.
struct Route {
  std::string name;
  Cuda cuda;
  std::string mode = "auto";
};
inline std::ostream& operator<<(std::ostream& out, const Route& route) {
  return out << route.name << " of CUDA " << route.cuda.text << ", " << route.mode;
}
constexpr int kLinked = 11040;  // The linked caller and library take no later functions.
/// Of the drivers of this CUDA and later ones, which have a function that is called.
inline std::vector<Route> all_routes(int since = 0) {
  std::vector<Route> routes;
  for (const Cuda& cuda : kCudas) {
    if (cuda.number < since) continue;
    for (const char* name : {"dlsym", "dlvsym", "default"}) routes.push_back({name, cuda});
    if (cuda.number < 11040) continue;
    if (since <= kLinked) routes.push_back({"linked", cuda});
    routes.push_back({"proc", cuda});
    if (cuda.number < 12000) continue;
    for (const char* name : {"proc_v2", "proc_self"}) routes.push_back({name, cuda});
  }
  // What the dynamic linker is asked for is the same at each.
  for (const Cuda& cuda : {kCudas[1], kCudas[4]}) {
    if (cuda.number < since) continue;
    routes.push_back({cuda.number < 12000 ? "dlmopen" : "dlmopen_proc", cuda});
    for (const char* name : {"deepbind", "namespace"}) {
      if (since <= kLinked) routes.push_back({name, cuda});
    }
  }
  for (const char* name : {"dlsym", "proc_self", "linked", "deepbind_now"}) {
    if (since <= kLinked || caller_by(name) == kCaller)
      routes.push_back({name, kCudas[3], "audit"});
  }
  // The guard has no sanitizer in it, and each test starts a daemon that is slow with one: there
  // the newest driver alone, which has all routes, and the oldest.
  if (BERTH_SANITIZED != 0) {
    std::erase_if(routes, [](const Route& route) {
      return route.cuda.number != kCudas[0].number && route.cuda.number != kCudas[4].number;
    });
  }
  return routes;
}

class GuardRouteTest : public GuardTest, public ::testing::WithParamInterface<Route> {
 protected:
  GuardRouteTest() : GuardTest(GetParam().cuda.text) {
    world_.environment()["CALLER_CUDA"] = std::to_string(GetParam().cuda.number);
    mode_ = GetParam().mode;
  }
  void SetUp() override {
    const bool audited = mode_ == "audit" || caller_by(GetParam().name) == caller_by("dlmopen");
    if (audited && !can_audit()) GTEST_SKIP() << "not in a sanitized build";
  }
};

/// What a test is called of this route or CUDA.
inline std::string name_of(const Cuda& cuda) {
  std::string text = cuda.text;
  std::erase(text, '.');
  return text;
}
inline std::string name_of(const Route& route) {
  return route.name + "_of_" + name_of(route.cuda) + (route.mode == "auto" ? "" : "_" + route.mode);
}

}  // namespace berth::e2e
