// SPDX-License-Identifier: Apache-2.0
// Note [What log-out ends]: logind ends what is in the scope of a session if it is configured to,
// whether the user lingers or not; and a user's own systemd (user@UID.service), with all that it
// started, ends with the last session of a user who does not linger. What runs elsewhere, in a unit
// of the system say, stays.
#include "cli/doctor/log_out.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "os/files.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileMax = std::size_t{64} << 10U;
// Of these an earlier one goes before a later one.
constexpr std::array kPlaces = {"/etc/systemd", "/run/systemd", "/usr/local/lib/systemd",
                                "/usr/lib/systemd"};
constexpr std::string_view kKill = "KillUserProcesses";

std::string text_of(const std::string& path) {
  Result<std::string> text = os::read_file(path, kFileMax);
  return text.ok() ? *std::move(text) : "";
}

bool is_yes(std::string word) {
  std::ranges::transform(word, word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  constexpr std::array kYes = {"1", "yes", "y", "true", "t", "on"};
  return std::ranges::find(kYes, word) != kYes.end();
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

struct Logind {
  bool kills = false;
  std::string said_by;
  std::vector<std::string> only;
  std::optional<std::vector<std::string>> except;
};

// A list is added to, and emptied by an empty value.
void add_words(const std::string& value, std::vector<std::string>& list) {
  if (value.empty()) list.clear();
  std::istringstream words(value);
  for (std::string word; words >> word;) list.push_back(word);
}

void read_settings(const std::string& path, Logind& logind) {
  std::istringstream lines(text_of(path));
  bool is_login = false;
  for (std::string raw; std::getline(lines, raw);) {
    const std::string line = trimmed(raw);
    if (line.starts_with('[')) is_login = line == "[Login]";
    const std::size_t equals = line.find('=');
    if (!is_login || equals == std::string::npos || line.starts_with(';')) continue;
    const std::string key = trimmed(line.substr(0, equals));
    const std::string value = trimmed(line.substr(equals + 1));
    // Distributions differ in what is built in, and each says it in a comment of the main file.
    const bool is_built_in = key == "#" + std::string(kKill) && logind.said_by.empty();
    if (key == kKill || is_built_in) {
      logind.kills = is_yes(value);
      logind.said_by = path;
    } else if (key == "KillOnlyUsers") {
      add_words(value, logind.only);
    } else if (key == "KillExcludeUsers") {
      if (!logind.except) logind.except.emplace();
      add_words(value, *logind.except);
    }
  }
}

// The first main file that there is, then drop-ins by their names, each from the first place that
// has it: an empty one there, or a link to /dev/null, hides the others.
Logind read_logind(const std::string& root) {
  Logind logind;
  for (const char* place : kPlaces) {
    const std::string path = root + place + "/logind.conf";
    if (!os::exists(path)) continue;
    read_settings(path, logind);
    break;
  }
  std::map<std::string, std::string> drop_ins;
  for (const char* place : kPlaces) {
    std::error_code error;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(root + place + "/logind.conf.d", error)) {
      if (entry.path().extension() != ".conf") continue;
      drop_ins.emplace(entry.path().filename().string(), entry.path().string());
    }
  }
  for (const auto& [name, path] : drop_ins) read_settings(path, logind);
  return logind;
}

bool has(const std::vector<std::string>& list, const std::string& user) {
  return std::ranges::find(list, user) != list.end();
}

// As logind.conf(5) has it.
bool kills(const Logind& logind, const std::string& user) {
  if (has(logind.except.value_or(std::vector<std::string>{"root"}), user)) return false;
  return logind.only.empty() ? logind.kills : has(logind.only, user);
}

LogOutFacts::Place place_of(const std::string& root, const std::string& pid) {
  const std::string cgroup = text_of(root + "/proc/" + pid + "/cgroup");
  if (cgroup.contains("/user@")) return LogOutFacts::Place::kUserManager;
  const bool is_session = cgroup.contains("/session-") && cgroup.contains(".scope");
  return is_session ? LogOutFacts::Place::kSession : LogOutFacts::Place::kElsewhere;
}

}  // namespace

LogOutFacts look_at_log_out(const std::string& root, const std::string& user,
                            std::optional<std::int32_t> keeper) {
  LogOutFacts facts{.user = user};
  std::error_code error;
  facts.has_sessions =
      fs::directory_iterator(root + "/run/systemd/sessions", error) != fs::directory_iterator();
  if (!facts.has_sessions) return facts;
  const Logind logind = read_logind(root);
  facts.kills = kills(logind, user);
  facts.said_by = logind.said_by;
  facts.lingers = os::exists(root + "/var/lib/systemd/linger/" + user);
  const std::string pid = std::to_string(keeper.value_or(0));
  if (keeper && text_of(root + "/proc/" + pid + "/comm") == "berth-keeper\n") {
    facts.keeper = keeper;
  }
  facts.place = place_of(root, facts.keeper ? pid : "self");
  return facts;
}

Finding judge_log_out(const LogOutFacts& facts) {
  using enum LogOutFacts::Place;
  constexpr std::string_view kCheck = "log_out";
  if (!facts.has_sessions) return fine(kCheck, "nobody logs in by systemd-logind here");
  const std::string where =
      facts.keeper ? "keeper (pid " + std::to_string(*facts.keeper) + ")" : "keeper";
  const std::string consequence =
      "your jobs end when you log out; or, by the administrator: sudo "
      "systemctl enable --now berth-keeper@" +
      facts.user;
  // One is enough: another ends at once, so that the one of now goes first.
  const std::string end_it =
      facts.keeper ? "kill " + std::to_string(*facts.keeper) + "; " : std::string();
  if (facts.place == kUserManager && !facts.lingers) {
    return warning(kCheck,
                   {.fact = "the " + where + " is run by your own systemd, and you do not linger",
                    .consequence = consequence,
                    .cure = "loginctl enable-linger"});
  }
  if (facts.place == kSession && facts.kills) {
    return warning(kCheck, {.fact = "log-out ends what you started (" + facts.said_by +
                                    "), and the " + where + " of your jobs with it",
                            .consequence = consequence,
                            .cure = end_it + "loginctl enable-linger && systemctl --user enable "
                                             "--now berth-keeper"});
  }
  return fine(kCheck, "your jobs live on when you log out");
}

}  // namespace berth::cli
