// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/ids.h"
#include "base/letters.h"
#include "base/nearest.h"
#include "config/document.h"
#include "config/keys.h"
#include "config/value.h"

namespace berth::config {
namespace {

using Path = std::vector<std::string>;

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  while (true) {
    const std::size_t dot = path.find('.');
    segments.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return segments;
    path.remove_prefix(dot + 1);
  }
}

// Whether `path` is the beginning of a key's path, or all of it.
struct Match {
  const Key* key = nullptr;  // All of it.
  std::string name;          // What stands for '*'.
  bool section = false;      // A beginning.
  bool free_name = false;    // Its last part stands for '*'.
};

// Takes the first part off a key's path.
std::string_view take_segment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('.'));
  path.remove_prefix(std::min(segment.size() + 1, path.size()));
  return segment;
}

bool is_former(std::string_view former, const Path& path) {
  for (const std::string& part : path) {
    if (former.empty() || take_segment(former) != part) return false;
  }
  return former.empty();
}

// For each entry of a file all keys are gone through, so nothing is split or copied on the way.
Match match(const Path& path) {
  Match found;
  for (const Key& key : keys()) {
    if (!key.former.empty() && is_former(key.former, path)) return {.key = &key};
    std::string_view rest = key.path;
    std::string_view segment;
    const std::string* name = nullptr;
    bool same = true;
    for (std::size_t i = 0; i < path.size() && same; ++i) {
      same = !rest.empty();
      segment = take_segment(rest);
      if (segment == "*") {
        name = &path[i];
      } else {
        same = same && segment == path[i];
      }
    }
    if (!same) continue;
    if (rest.empty()) return {.key = &key, .name = name == nullptr ? "" : *name};
    found.section = true;
    found.free_name = segment == "*";
  }
  return found;
}

// The key or section that may have been meant: a near one at this place, or the same word
// elsewhere.
std::optional<std::string> meant(const Path& path, bool project) {
  std::vector<std::string_view> here;
  const Path above(path.begin(), path.end() - 1);
  for (const Key& key : keys()) {
    const std::vector<std::string_view> segments = split(key.path);
    if (key.path.starts_with(kProject) != project) continue;
    if (segments.size() < path.size()) continue;
    const bool beside = std::ranges::equal(
        above, std::span(segments).first(above.size()),
        [](const std::string& have, std::string_view want) { return want == "*" || want == have; });
    if (beside && segments[above.size()] != "*") here.push_back(segments[above.size()]);
  }
  if (const auto near = nearest(path.back(), here)) return std::string(*near);
  if (project) return std::nullopt;
  for (const Key& key : keys()) {
    const bool same_word = split(key.path).back() == path.back() && !key.path.starts_with(kProject);
    if (same_word && key.path.find('*') == std::string_view::npos) return std::string(key.path);
  }
  return std::nullopt;
}

// What to say of a value that was read under a name which has changed since.
std::optional<std::string> renamed(const Key& key, const std::string& name, Slot slot,
                                   const Given& given) {
  if (key.former == name) return name + ": is called " + std::string(key.path) + " now";
  const auto* text = std::get_if<std::string>(&given.value);
  const auto* expression = std::get_if<std::optional<alerts::Expression>*>(&slot);
  if (text == nullptr || expression == nullptr || !**expression) return std::nullopt;
  const Word<alerts::Source>& source = word_at((**expression)->source);
  if (source.former.empty() || !text->contains(source.former)) return std::nullopt;
  return name + ": " + std::string(source.former) + " is called " + std::string(source.text) +
         " now";
}

class Loader {
 public:
  explicit Loader(Mode mode) : config_(built_in(mode)) {}

  void read_file(const File& file);
  void read_override(const Override& override);
  std::variant<Loaded, Problems> result() &&;

 private:
  void read_table(const File& file, const Given::Table& table, const Path& path);
  void read_entry(const File& file, const Entry& entry, Path path);
  void read_value(const File& file, const Entry& entry, const Path& path, const Match& found);
  void unknown(const File& file, const Entry& entry, const Path& path);
  std::optional<std::string> wrong_alert_name(const std::string& name) const;
  void check_alerts();
  void problem(Problem problem) {
    if (problems_.size() < kProblemsMax) problems_.push_back(std::move(problem));
  }
  void note(Problem note) {
    if (notes_.size() < kProblemsMax) notes_.push_back(std::move(note));
  }
  /// The value was read: notes where it is from.
  void accept(const Match& found, std::string name, const Given& given, Origin origin);

  Config config_;
  Problems problems_;
  Problems notes_;
};

// As the user wrote it: without the section that a project's file stands for.
std::string shown(const Path& path, bool project) {
  std::string text;
  for (std::size_t i = project ? 1 : 0; i < path.size(); ++i) {
    text += (text.empty() ? "" : ".") + toml_key(path[i]);
  }
  return text;
}

Problem problem_at(const File& file, Position at, std::string message) {
  return {.where = file.path, .line = at.line, .column = at.column, .message = std::move(message)};
}

Origin::Layer layer_of(File::Kind kind) {
  switch (kind) {
    case File::Kind::kMachine:
      return Origin::Layer::kMachine;
    case File::Kind::kUser:
      return Origin::Layer::kUser;
    case File::Kind::kProject:
      break;
  }
  return Origin::Layer::kProject;
}

void Loader::read_file(const File& file) {
  auto parsed = parse_toml(file.path, file.text);
  if (Problem* wrong = std::get_if<Problem>(&parsed)) {
    problem(std::move(*wrong));
    return;
  }
  const Path root = file.kind == File::Kind::kProject ? Path{"request"} : Path{};
  read_table(file, std::get<Given::Table>(parsed), root);
}

void Loader::read_table(const File& file, const Given::Table& table, const Path& path) {
  for (const Entry& entry : table) read_entry(file, entry, path);
}

void Loader::read_entry(const File& file, const Entry& entry, Path path) {
  const bool project = file.kind == File::Kind::kProject;
  path.push_back(entry.key);
  const Match found = match(path);
  const bool project_key = path.front() == "request";
  if (found.key != nullptr && project_key == project) return read_value(file, entry, path, found);
  const auto* table = std::get_if<Given::Table>(&entry.given.value);
  if (!found.section || project_key != project || (found.free_name && table == nullptr)) {
    return unknown(file, entry, path);
  }
  if (table == nullptr) {
    return problem(problem_at(file, entry.given.at,
                              shown(path, project) + ": is a section, not " + entry.given.shown() +
                                  ": write [" + shown(path, project) + "]"));
  }
  if (found.free_name && path.front() == "gpu" && !parse_device_id(entry.key)) {
    return problem(problem_at(file, entry.at,
                              shown(path, project) + ": is not the UUID of a GPU, as `nvidia-smi "
                                                     "-L` prints it"));
  }
  if (found.free_name && path.front() == "alert") {
    if (const auto wrong = wrong_alert_name(entry.key)) {
      return problem(problem_at(file, entry.at, shown(path, project) + ": " + *wrong));
    }
  }
  if (found.free_name && path.front() == "tier" && !is_alert_name(entry.key)) {
    return problem(problem_at(file, entry.at,
                              shown(path, project) +
                                  ": a tier's name has letters, digits, '-' and "
                                  "'_', " +
                                  std::to_string(kAlertNameMax) + " of them at most"));
  }
  const auto too_many = [&](const auto& named, std::size_t most) {
    return found.free_name && named.size() == most && !named.contains(entry.key);
  };
  if (path.front() == "users" && too_many(config_.users, kUsersMax)) {
    return problem(
        problem_at(file, entry.at,
                   shown(path, project) + ": more than " + std::to_string(kUsersMax) + " users"));
  }
  if (path.front() == "tier" && too_many(config_.core.tiers, kTiersMax)) {
    return problem(problem_at(file, entry.at,
                              shown(path, project) + ": more than " + std::to_string(kTiersMax) +
                                  " tiers, with those that are built in"));
  }
  read_table(file, *table, path);
}

std::optional<std::string> Loader::wrong_alert_name(const std::string& name) const {
  if (!is_alert_name(name)) {
    return "a rule's name has letters, digits, '-' and '_', " + std::to_string(kAlertNameMax) +
           " of them at most";
  }
  if (config_.alerts.contains(name) || config_.alerts.size() < kAlertsMax) return std::nullopt;
  return "more than " + std::to_string(kAlertsMax) + " rules, with those that are built in";
}

// What no single key shows.
void Loader::check_alerts() {
  for (const auto& [name, rule] : config_.alerts) {
    const bool unused = !rule.has_webhook() && !rule.secret_file.empty();
    const bool twice = !rule.webhook.empty() && !rule.webhook_file.empty();
    if (rule.when && !unused && !twice) continue;
    const auto at = config_.origins.lower_bound("alert." + name + ".");
    const Origin origin = at == config_.origins.end() ? Origin{} : at->second;
    problem({.where = origin.where,
             .line = origin.line,
             .column = origin.column,
             .message = "alert." + name +
                        (unused  ? ": has a secret_file and no webhook"
                         : twice ? ": has a webhook and a webhook_file: one of them is enough"
                                 : ": has no `when`, which says what it looks at")});
  }
}

void Loader::read_value(const File& file, const Entry& entry, const Path& path,
                        const Match& found) {
  const bool project = file.kind == File::Kind::kProject;
  const Status status = read(*found.key, entry.given, found.key->slot(config_, found.name));
  if (!status.ok()) {
    return problem(
        problem_at(file, entry.given.at, shown(path, project) + ": " + status.error().message));
  }
  accept(found, shown(path, false), entry.given,
         {.layer = layer_of(file.kind),
          .where = file.path,
          .line = entry.at.line,
          .column = entry.at.column});
}

void Loader::accept(const Match& found, std::string name, const Given& given, Origin origin) {
  const Key& key = *found.key;
  if (auto text = renamed(key, name, key.slot(config_, found.name), given)) {
    note({.where = origin.where,
          .line = origin.line,
          .column = origin.column,
          .message = *std::move(text)});
  }
  if (key.former == name) name = key.path;
  config_.origins[std::move(name)] = std::move(origin);
}

void Loader::unknown(const File& file, const Entry& entry, const Path& path) {
  const bool project = file.kind == File::Kind::kProject;
  std::string message = shown(path, project);
  const std::optional<std::string> other = meant(path, project);
  const std::string hint = other ? "; did you mean '" + *other + "'?" : "";
  if (!project) {
    const bool of_project = path.front() == "request";
    message += of_project ? ": belongs into the .berth.toml of a project, without 'request.'"
                          : ": there is no such key" + hint;
    return problem(problem_at(file, entry.at, std::move(message)));
  }
  message += ": ignored: a project may set vram, eta, name, labels and wait" + hint;
  note(problem_at(file, entry.at, std::move(message)));
}

void Loader::read_override(const Override& override) {
  Path path;
  for (const std::string_view segment : split(override.key)) path.emplace_back(segment);
  const Match found = match(path);
  if (found.key == nullptr) {
    return problem({.where = override.where, .message = override.key + ": there is no such key"});
  }
  if (path.front() == "alert") {
    if (const auto wrong = wrong_alert_name(found.name)) {
      return problem({.where = override.where, .message = override.key + ": " + *wrong});
    }
  }
  const Given given{.value = override.text, .at = {}, .loose = true};
  const Status status = read(*found.key, given, found.key->slot(config_, found.name));
  if (!status.ok()) {
    return problem({.where = override.where, .message = status.error().message});
  }
  accept(found, override.key, given, {.layer = override.layer, .where = override.where});
}

std::variant<Loaded, Problems> Loader::result() && {
  if (problems_.empty()) check_alerts();
  if (!problems_.empty()) return std::move(problems_);
  return Loaded{.config = std::move(config_), .notes = std::move(notes_)};
}

}  // namespace

std::variant<Loaded, Problems> load(const Input& input) {
  Loader loader(input.mode);
  for (const File& file : input.files) loader.read_file(file);
  for (const Override& override : input.overrides) loader.read_override(override);
  return std::move(loader).result();
}

bool is_alert_name(std::string_view name) {
  return is_bare_word(name) && name.size() <= kAlertNameMax;
}

std::vector<Override> overrides_of_environment(
    const std::map<std::string, std::string>& environment) {
  struct Row {
    std::string variable;
    std::string key;
    std::string text;  // Instead of the variable's own.
  };
  // NO_COLOR wins over CLICOLOR_FORCE: who sets it asked for no colour whatever else is said.
  const std::array<Row, 5> rows = {{{"BERTH_LOG", "daemon.log", ""},
                                    {"BERTH_FORMAT", "client.output", ""},
                                    {"BERTH_DEFAULT_VRAM", "request.vram", ""},
                                    {"CLICOLOR_FORCE", "client.color", "always"},
                                    {"NO_COLOR", "client.color", "never"}}};
  std::vector<Override> overrides;
  for (const Row& row : rows) {
    const auto at = environment.find(row.variable);
    if (at == environment.end() || at->second.empty()) continue;
    if (row.variable == "CLICOLOR_FORCE" && at->second == "0") continue;
    overrides.push_back({.layer = Origin::Layer::kEnvironment,
                         .key = row.key,
                         .text = row.text.empty() ? at->second : row.text,
                         .where = row.variable});
  }
  return overrides;
}

}  // namespace berth::config
