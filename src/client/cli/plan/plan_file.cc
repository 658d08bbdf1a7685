// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/fnv1a.h"
#include "base/letters.h"
#include "base/nearest.h"
#include "cli/run/run_options.h"
#include "cli/verb.h"
#include "jobs/sweep.h"

namespace berth::cli {
namespace {

using config::Entry;
using config::Given;
using config::Problem;

constexpr std::size_t kNameMax = 64;      // As the daemon has it.
constexpr std::size_t kProblemsMax = 20;  // Told at once.

// Of `berth submit`, what makes no sense for one of several, or is said by the plan itself.
constexpr std::array<std::string_view, 13> kNotInPlans = {
    "name",  "detach", "resume", "dry-run",      "status-fd", "notify", "quiet",
    "color", "help",   "wait",   "no-autostart", "no-wait",   "cwd"};
constexpr std::array<std::string_view, 3> kLists = {"grid", "label", "gpus"};
constexpr std::array<std::pair<std::string_view, Ends>, 3> kAfter = {
    {{"after", Ends::kAny}, {"after-ok", Ends::kOk}, {"after-fail", Ends::kFailed}}};

std::optional<Ends> after_of(std::string_view key) {
  for (const auto& [word, ends] : kAfter) {
    if (key == word) return ends;
  }
  return std::nullopt;
}

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

/// What a value is as text of the command line; absent: no text stands for it.
std::optional<std::string> text_of(const Given& given) {
  if (const auto* text = std::get_if<std::string>(&given.value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&given.value)) return std::to_string(*number);
  return std::nullopt;
}

class PlanReader {
 public:
  explicit PlanReader(std::string file)
      : file_(std::move(file)), submit_{.verb = *find_verb("submit")} {
    declare_run(submit_, run_);
    for (const Option& option : submit_.options.all()) {
      const std::string_view name = option.long_name();
      if (!name.empty() && !option.hidden() && !is_one_of(name, kNotInPlans)) {
        options_[name] = &option;
      }
    }
  }

  void read(const Given::Table& table) {
    for (const Entry& entry : table) {
      const auto* sessions = std::get_if<Given::Table>(&entry.given.value);
      if (entry.key != "session" || sessions == nullptr) {
        problem(entry.at, entry.key + ": a plan has sections [session.NAME] and nothing else");
        continue;
      }
      for (const Entry& session : *sessions) read_session(session);
    }
    if (plan_.sessions.empty() && problems_.empty()) {
      problem({.line = 1, .column = 1}, "there is no session: write [session.NAME]");
    }
  }

  std::variant<Plan, config::Problems> result() && {
    check_predecessors();
    if (problems_.empty()) put_in_order();
    if (problems_.empty()) return std::move(plan_);
    std::ranges::sort(problems_, {},
                      [](const Problem& one) { return std::pair(one.line, one.column); });
    problems_.resize(std::min(problems_.size(), kProblemsMax));
    return std::move(problems_);
  }

 private:
  void problem(config::Position at, std::string message) {
    problems_.push_back(
        {.where = file_, .line = at.line, .column = at.column, .message = std::move(message)});
  }

  void read_session(const Entry& entry) {
    const std::string path = "session." + entry.key;
    const auto* table = std::get_if<Given::Table>(&entry.given.value);
    if (table == nullptr) return problem(entry.at, path + ": is a section: write [" + path + "]");
    const bool is_name = is_bare_word(entry.key) && entry.key.size() <= kNameMax &&
                         (entry.key[0] < '0' || entry.key[0] > '9') && !entry.key.starts_with("l_");
    if (!is_name) {
      return problem(entry.at, path + ": a session's name has letters, digits, '-' and '_', " +
                                   std::to_string(kNameMax) +
                                   " of them at most, and begins with no digit and no l_");
    }
    if (plan_.sessions.size() == kPlanSessionsMax) {
      return problem(entry.at,
                     path + ": more than " + std::to_string(kPlanSessionsMax) + " sessions");
    }
    PlannedSession session{.name = entry.key, .at = entry.at};
    const std::size_t before = problems_.size();
    run_ = {.detach = true};
    for (const Entry& key : *table) read_key(session, path, key);
    if (session.command.empty() && problems_.size() == before) {
      problem(entry.at, path + ": has no `command`, which says what is run");
    }
    if (problems_.size() == before) check_whole(session, path);
    plan_.sessions.push_back(std::move(session));
  }

  // What no single key shows.
  void check_whole(PlannedSession& session, const std::string& path) {
    const auto request = plan_request(run_.session.request, config::built_in(config::Mode::kUser));
    if (!request.ok()) return problem(session.at, path + ": " + request.error().message);
    session.asked = run_.session.request;
    if (run_.grid.empty()) return;
    const auto lines = jobs::lines_of_grid(run_.grid);
    if (!lines.ok()) return problem(session.at, path + ": " + lines.error().message);
    session.members = static_cast<std::uint32_t>(lines->size());
  }

  void read_key(PlannedSession& session, const std::string& path, const Entry& entry) {
    const std::string key = path + "." + entry.key;
    if (entry.key == "command") return read_command(session, key, entry.given);
    if (const auto ends = after_of(entry.key)) return read_after(session, key, *ends, entry.given);
    const auto found = options_.find(entry.key);
    if (found == options_.end()) return unknown(key, entry);
    const Option& option = *found->second;
    const auto* flag = std::get_if<bool>(&entry.given.value);
    if (option.value == Option::Value::kNone) {
      if (flag == nullptr) {
        return problem(entry.given.at, key + ": must be true or false, not " + entry.given.shown());
      }
      if (*flag) take(session, key, entry, "--" + entry.key);
      return;
    }
    for (const Given& one : each_of(entry)) {
      const auto text = text_of(one);
      if (!text)
        return problem(one.at, key + ": must be " + form_of(option) + ", not " + one.shown());
      take(session, key, entry, "--" + entry.key + "=" + *text);
    }
  }

  static std::string form_of(const Option& option) {
    std::string form = "text, as --" + std::string(option.long_name()) + " takes it";
    return form + (is_one_of(option.long_name(), kLists) ? ", or a list of it" : "");
  }

  /// Itself, or what is in it where there may be several.
  static std::vector<Given> each_of(const Entry& entry) {
    const auto* list = std::get_if<Given::List>(&entry.given.value);
    if (list == nullptr || !is_one_of(entry.key, kLists)) return {entry.given};
    if (entry.key == "gpus") return {joined(*list, entry.given)};
    return *list;
  }

  /// [0, 1] is "0,1".
  static Given joined(const Given::List& list, const Given& whole) {
    std::string text;
    for (const Given& one : list) {
      const auto part = text_of(one);
      if (!part) return one;
      text += (text.empty() ? "" : ",") + *part;
    }
    return {.value = text, .at = whole.at};
  }

  void take(PlannedSession& session, const std::string& key, const Entry& entry, std::string word) {
    const Status taken = submit_.options.parse({word, "--", "true"});
    if (!taken.ok()) {
      std::string_view why = taken.error().message;  // Begins with the option, as typed.
      const std::string option = "--" + entry.key + ": ";
      if (why.starts_with(option)) why.remove_prefix(option.size());
      return problem(entry.given.at, key + ": " + std::string(why));
    }
    session.options.push_back(std::move(word));
  }

  void unknown(const std::string& key, const Entry& entry) {
    if (is_one_of(entry.key, kNotInPlans)) {
      return problem(entry.at, key + ": a plan cannot say this");
    }
    std::vector<std::string_view> known = {"command"};
    for (const auto& [word, ends] : kAfter) known.push_back(word);
    for (const auto& [name, option] : options_) known.push_back(name);
    std::string_view meant = nearest(entry.key, known).value_or("");
    if (entry.key == "memory") meant = "vram";
    problem(entry.at, key + ": there is no such key" +
                          (meant.empty() ? "" : "; did you mean \"" + std::string(meant) + "\"?"));
  }

  void read_command(PlannedSession& session, const std::string& key, const Given& given) {
    if (const auto* line = std::get_if<std::string>(&given.value)) {
      session.command = {"sh", "-c", *line};
      if (line->find_first_not_of(" \t\n") == std::string::npos) session.command.clear();
    } else if (const auto* words = std::get_if<Given::List>(&given.value)) {
      for (const Given& word : *words) {
        const auto* text = std::get_if<std::string>(&word.value);
        if (text == nullptr) {
          return problem(word.at, key + ": must be a list of text; " + word.shown() + " is in it");
        }
        session.command.push_back(*text);
      }
    }
    if (session.command.empty() || session.command[0].empty()) {
      problem(given.at, key + ": must be a line for sh, or a list of a program and its arguments");
    }
  }

  void read_after(PlannedSession& session, const std::string& key, Ends ends, const Given& given) {
    const auto* list = std::get_if<Given::List>(&given.value);
    for (const Given& one : list == nullptr ? Given::List{given} : *list) {
      const auto* name = std::get_if<std::string>(&one.value);
      if (name == nullptr) {
        return problem(one.at, key + ": must be the name of a session, or a list of names, not " +
                                   one.shown());
      }
      session.after.push_back({.session = *name, .ends = ends});
      after_at_.emplace(std::pair(session.name, *name), one.at);
    }
  }

  void check_predecessors() {
    std::vector<std::string_view> names;
    names.reserve(plan_.sessions.size());
    for (const PlannedSession& session : plan_.sessions) names.push_back(session.name);
    for (const PlannedSession& session : plan_.sessions) {
      for (const auto& [name, ends] : session.after) {
        if (plan_.find(name) != nullptr) continue;
        const std::string_view meant = nearest(name, names).value_or("");
        problem(after_at_.at({session.name, name}),
                "session." + session.name + ": there is no session '" + name + "' to come after" +
                    (meant.empty() ? "" : "; did you mean \"" + std::string(meant) + "\"?"));
      }
    }
  }

  void put_in_order() {
    Plan ordered;
    while (ordered.sessions.size() < plan_.sessions.size()) {
      const auto next = std::ranges::find_if(plan_.sessions, [&](const PlannedSession& session) {
        return ordered.find(session.name) == nullptr &&
               std::ranges::all_of(session.after, [&](const auto& after) {
                 return ordered.find(after.session) != nullptr;
               });
      });
      if (next == plan_.sessions.end()) return tell_circle(ordered);
      ordered.sessions.push_back(*next);
    }
    plan_ = std::move(ordered);
  }

  /// Each of those that are left comes after another of them: on that way one comes up twice.
  void tell_circle(const Plan& ordered) {
    const auto is_left = [&](const std::string& name) { return ordered.find(name) == nullptr; };
    const PlannedSession* at = &*std::ranges::find_if(
        plan_.sessions, [&](const PlannedSession& session) { return is_left(session.name); });
    std::vector<std::string> way;
    while (!is_one_of(at->name, way)) {
      way.push_back(at->name);
      at = plan_.find(std::ranges::find_if(at->after, [&](const auto& after) {
                        return is_left(after.session);
                      })->session);
    }
    std::string text = at->name;
    for (auto step = std::ranges::find(way, at->name) + 1; step != way.end(); ++step) {
      text += " after " + *step;
    }
    problem(at->at,
            "session." + at->name + ": none of them could start: " + text + " after " + at->name);
  }

  std::string file_;
  Invocation submit_;
  RunOptions run_;
  std::map<std::string_view, const Option*> options_;
  std::map<std::pair<std::string, std::string>, config::Position> after_at_;
  Plan plan_;
  config::Problems problems_;
};

}  // namespace

std::string PlannedSession::fingerprint() const {
  std::uint64_t hash = kFnv1aBasis;
  const auto add = [&](std::string_view text) {
    hash = fnv1a(std::string_view("\0", 1), fnv1a(text, hash));
  };
  std::vector<std::string> sorted = options;
  std::ranges::sort(sorted);
  for (const std::string& option : sorted) add(option);
  add("--");
  for (const std::string& word : command) add(word);
  for (const After& one : after) add("after " + std::string(to_text(one.ends)) + " " + one.session);
  return std::to_string(hash);
}

const PlannedSession* Plan::find(std::string_view name) const {
  const auto found = std::ranges::find(sessions, name, &PlannedSession::name);
  return found == sessions.end() ? nullptr : &*found;
}

std::variant<Plan, config::Problems> parse_plan(const std::string& file, std::string_view text) {
  auto parsed = config::parse_toml(file, text);
  if (auto* wrong = std::get_if<Problem>(&parsed)) return config::Problems{std::move(*wrong)};
  PlanReader reader(file);
  reader.read(std::get<Given::Table>(parsed));
  return std::move(reader).result();
}

}  // namespace berth::cli
