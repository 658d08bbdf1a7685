// SPDX-License-Identifier: Apache-2.0
// Settings of an operator or user, checked and typed, each value with its origin. The defaults of
// the members are the built-in ones. Plain data; config/load.h makes it from text. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "alerts/expression.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "core/settings.h"
#include "model/alert.h"
#include "model/message.h"
#include "model/policy.h"
#include "model/request.h"

namespace berth::config {

enum class Mode : std::uint8_t { kUser, kSystem };

enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug };
constexpr auto words_of(LogLevel) {
  using enum LogLevel;
  return make_words<LogLevel>(
      {{kError, "error"}, {kWarn, "warn"}, {kInfo, "info"}, {kDebug, "debug"}});
}
enum class VisibleDevices : std::uint8_t { kIndex, kUuid };
constexpr auto words_of(VisibleDevices) {
  using enum VisibleDevices;
  return make_words<VisibleDevices>({{kIndex, "index"}, {kUuid, "uuid"}});
}
/// What programs are told of a device's memory: as much as their budget, or as much as there is.
enum class Reported : std::uint8_t { kBudget, kPhysical };
constexpr auto words_of(Reported) {
  using enum Reported;
  return make_words<Reported>({{kBudget, "budget"}, {kPhysical, "physical"}});
}
enum class ShowCommands : std::uint8_t { kOwn, kAll };
constexpr auto words_of(ShowCommands) {
  using enum ShowCommands;
  return make_words<ShowCommands>({{kOwn, "own"}, {kAll, "all"}});
}
enum class Color : std::uint8_t { kAuto, kAlways, kNever };
constexpr auto words_of(Color) {
  using enum Color;
  return make_words<Color>({{kAuto, "auto"}, {kAlways, "always"}, {kNever, "never"}});
}
enum class Output : std::uint8_t { kTable, kWide, kJson, kNdjson, kCsv, kTsv, kIds };
constexpr auto words_of(Output) {
  using enum Output;
  return make_words<Output>({{kTable, "table"},
                             {kWide, "wide"},
                             {kJson, "json"},
                             {kNdjson, "ndjson"},
                             {kCsv, "csv"},
                             {kTsv, "tsv"},
                             {kIds, "ids"}});
}

/// How a command is held to its budget; docs/guard.md.
enum class Enforce : std::uint8_t { kAuto, kGuard, kMps, kWatchdog, kNone };
constexpr auto words_of(Enforce) {
  using enum Enforce;
  return make_words<Enforce>({{kAuto, "auto"},
                              {kGuard, "guard"},
                              {kMps, "mps"},
                              {kWatchdog, "watchdog"},
                              {kNone, "none"}});
}

/// What a request gets that says nothing about memory.
struct DefaultVram {
  /// kAsk: nothing; it is refused, naming -m. kLearned: as much as earlier runs of its command
  /// used; a whole GPU where that is not known.
  enum class Kind : std::uint8_t { kExclusive, kAsk, kLearned, kSize };
  Kind kind = Kind::kExclusive;
  Bytes size;  // With kSize only.
  friend constexpr auto operator<=>(const DefaultVram&, const DefaultVram&) = default;
};

struct Daemon {
  std::string state_dir;  // Empty: the place of the mode.
  LogLevel log = LogLevel::kInfo;
  bool in_container = true;
  bool http = false;            // At a port, too.
  std::uint32_t http_port = 0;  // 0: one that is free.
  bool open_metrics = false;    // At the port, without the token.
  std::string gpu_jobs_dir;     // Empty: no such files are kept.
};

struct Gpu {
  Duration sample_interval = seconds(1);
};

/// What is kept of the past.
struct History {
  bool record = true;
  Duration second = hours(2);
  Duration minute = hours(std::int64_t{24} * 7);
  Duration hour = hours(std::int64_t{24} * 90);
  Bytes size_max = mib(200);
};

struct Policy {
  DefaultVram default_vram;
  VisibleDevices visible_devices = VisibleDevices::kIndex;
  Reported report_total = Reported::kBudget;
  Reported report_nvml = Reported::kPhysical;
};

struct Enforcement {
  Enforce mode = Enforce::kAuto;
  OverBudget over_budget = OverBudget::kNotify;
};

/// A rule, and who is told.
struct AlertRule {
  std::optional<alerts::Expression> when;  // Each rule has one.
  bool enabled = true;
  Severity severity = Severity::kWarn;
  Duration repeat = hours(1);        // While it goes on; 0: not again.
  bool terminal = false;             // The berth run of the lease that it is about.
  bool desktop = false;              // The desktop sessions of its user.
  std::string webhook;               // Empty: none, or in the file.
  std::string webhook_file;          // That holds it; empty: none.
  std::string secret_file;           // Empty: its messages are not signed.
  bool allow_private = false;        // The webhook may be on this machine or network.
  std::vector<std::string> command;  // Program and arguments; empty: none.

  bool has_webhook() const { return !webhook.empty() || !webhook_file.empty(); }
};

struct Access {
  std::vector<std::string> admins = {"root", "@wheel"};  // Users, and groups with '@'.
  ShowCommands show_commands = ShowCommands::kOwn;
};

/// Of each user.
struct Limits {
  std::uint32_t connections = 384;
  std::uint32_t event_streams = 64;
  std::uint32_t requests_per_second = 50;  // 0: no bound.
  std::uint32_t requests_at_once = 200;
};

struct Jobs {
  Bytes log_max = mib(256);  // On the disk, of each attempt; 0: no bound.
};

/// Of one user, instead of what holds for all.
struct User {
  std::optional<Bytes> vram;  // Sum of budgets.
  std::optional<std::uint32_t> leases;
  std::optional<Priority> max_priority;
};

struct Client {
  Color color = Color::kAuto;
  Output output = Output::kTable;
  bool desktop = true;  // Whether what shows alerts there is started.
};

struct Mcp {
  ReadMessages messages = ReadMessages::kOwn;
};

/// Defaults of the requests made in a project.
struct RequestDefaults {
  std::optional<DefaultVram> vram;
  std::optional<Duration> eta;
  std::string name;
  std::map<std::string, std::string> labels;
  std::optional<Duration> wait;
};

/// Where a value comes from; later ones win.
struct Origin {
  enum class Layer : std::uint8_t { kBuiltIn, kMachine, kUser, kProject, kEnvironment, kFlag };
  Layer layer = Layer::kBuiltIn;
  std::string where;       // A file, a variable or an option; empty if built-in.
  std::uint32_t line = 0;  // From 1, in a file.
  std::uint32_t column = 0;
  friend bool operator==(const Origin&, const Origin&) = default;
};
/// "built-in", "/etc/berth/berth.toml:3", "BERTH_LOG", "--color".
std::string to_text(const Origin& origin);

struct Config {
  Mode mode = Mode::kUser;
  core::Settings core;  // But for the limits of single users, who are below by name.
  Daemon daemon;
  Gpu gpu;
  History history;
  Policy policy;
  Enforcement enforce;
  Access access;
  Limits limits;
  Jobs jobs;
  std::map<std::string, User> users;        // By name, or number as text.
  std::map<std::string, AlertRule> alerts;  // By name.
  Client client;
  Mcp mcp;
  RequestDefaults request;
  std::map<std::string, Origin> origins;  // By key, of what is not built-in.
};

/// The built-in values. A daemon of one user bounds them by what the machine can do; a shared one
/// bounds each user.
Config built_in(Mode mode);

}  // namespace berth::config
