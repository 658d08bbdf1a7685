// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/json_writer.h"
#include "config/keys.h"
#include "config/value.h"

namespace berth::config {
namespace {

struct Parts {
  std::string section;  // "gpu", or "users.*"
  std::string_view last;
};

Parts parts_of(const Key& key) {
  const std::size_t dot = key.path.rfind('.');
  return {.section = std::string(key.path.substr(0, dot)), .last = key.path.substr(dot + 1)};
}

bool has_name(const Key& key) {
  return key.path.find('*') != std::string_view::npos;
}

bool is_of_alert(const Key& key) {
  return key.path.starts_with("alert.*");
}

std::string path_with(const Key& key, std::string_view name) {
  std::string path(key.path);
  path.replace(path.find('*'), 1, name);
  return path;
}

// The section as it stands in a file, with an example for the name of the user's choice.
std::string header(const std::string& section) {
  if (section == "gpu.*") return "[gpu.\"GPU-5a1c0d2e-0000-0000-0000-000000000000\"]";
  if (section == "users.*") return "[users.guest]";
  if (section == "tier.*") return "[tier.night]";
  if (section == "alert.*") return "[alert.train-failed]";
  return "[" + section + "]";
}

std::string example(const Key& key) {
  if (key.path == "gpu.*.reserve") return "\"2GiB\"";
  if (key.path == "users.*.vram") return "\"12GiB\"";
  if (key.path == "users.*.leases") return "2";
  if (key.path == "tier.*.share") return "\"slice\"";
  if (key.path == "tier.*.yield") return "true";
  if (key.path == "tier.*.idle_action") return "\"ask\"";
  if (key.path == "tier.*.idle") return "\"15m\"";
  if (key.path == "alert.*.when") return "\"lease.ended result=failed\"";
  if (is_of_alert(key)) {
    Config config;
    return as_toml(slot_of(key, config)).value_or("\"\"");
  }
  return "\"normal\"";
}

void append_wrapped(std::string& out, std::string_view prefix, std::string_view text) {
  constexpr std::size_t kColumns = 80;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (prefix.size() + text.size() > kColumns) {
      end = text.rfind(' ', kColumns - prefix.size());
      if (end == std::string_view::npos || end == 0) end = text.size();
    }
    out.append(prefix).append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string escaped_for_table(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string default_cell(const Key& key, Config& user, Config& system) {
  if (has_name(key) && !is_of_alert(key)) return "–";
  const std::optional<std::string> in_user = as_toml(slot_of(key, user));
  const std::optional<std::string> in_system = as_toml(slot_of(key, system));
  if (!in_user || !in_system) return "–";
  if (in_user == in_system) return "`" + *in_user + "`";
  return "`" + *in_system + "`; in user mode `" + *in_user + "`";
}

void append_schema(const Key& key, JsonWriter& out) {
  Config config = built_in(Mode::kUser);
  const Slot slot = slot_of(key, config);
  out.begin_object().key("description").text(key.doc);
  if (std::holds_alternative<bool*>(slot)) {
    out.key("type").text("boolean");
  } else if (std::holds_alternative<std::uint32_t*>(slot) ||
             std::holds_alternative<std::optional<std::uint32_t>*>(slot)) {
    out.key("type").text("integer").key("minimum").number(key.min).key("maximum").number(key.max);
  } else if (std::holds_alternative<std::vector<std::string>*>(slot) ||
             std::holds_alternative<Ladder*>(slot)) {
    out.key("type").text("array");
    out.key("items").begin_object().key("type").text("string").end_object();
  } else {
    out.key("type").text("string");
  }
  const std::vector<std::string_view> words = choices_of(key);
  if (!words.empty()) {
    out.key("enum").begin_array();
    for (const std::string_view word : words) out.text(word);
    out.end_array();
  }
  out.end_object();
}

// Begins the schema of a table with these keys in it, up to what is said of others.
void begin_table(const std::vector<const Key*>& keys, JsonWriter& out) {
  out.begin_object().key("type").text("object").key("properties").begin_object();
  for (const Key* key : keys) append_schema(*key, out.key(parts_of(*key).last));
  out.end_object().key("additionalProperties");
}

struct Section {
  std::string name;
  std::vector<const Key*> keys;
  std::vector<const Key*> named;  // Below a name of the user's choice.
};

void append_section(const Section& section, JsonWriter& out) {
  begin_table(section.keys, out);
  if (section.named.empty()) {
    out.boolean(false);
  } else if (section.name == "gpu") {
    out.boolean(false).key("patternProperties").begin_object();
    begin_table(section.named, out.key("^(GPU|MIG)-[0-9a-fA-F-]{36}$"));
    out.boolean(false).end_object().end_object();
  } else {
    begin_table(section.named, out);
    out.boolean(false).end_object();
  }
  out.end_object();
}

std::vector<Section> sections() {
  std::vector<Section> all;
  for (const Key& key : keys()) {
    if (key.path.starts_with(kProject)) continue;
    const std::string_view name = key.path.substr(0, key.path.find('.'));
    auto section = std::ranges::find(all, name, &Section::name);
    if (section == all.end()) section = all.insert(all.end(), {.name = std::string(name)});
    (has_name(key) ? section->named : section->keys).push_back(&key);
  }
  return all;
}

}  // namespace

std::vector<ShownValue> shown_values(const Config& config) {
  Config copy = config;  // A slot is a place to write to as well.
  std::vector<ShownValue> shown;
  const auto add = [&](const Key& key, const std::string& path, const std::string& name) {
    const auto origin = config.origins.find(path);
    const bool set = origin != config.origins.end();
    if (!name.empty() && !set) return;
    shown.push_back({.key = path,
                     .value = as_toml(key.slot(copy, name)).value_or(""),
                     .origin = set ? origin->second : Origin{}});
  };
  for (const Key& key : keys()) {
    if (!has_name(key)) {
      add(key, std::string(key.path), "");
      continue;
    }
    if (key.path.starts_with("users.*")) {
      for (const auto& [name, user] : config.users) add(key, path_with(key, toml_key(name)), name);
    } else if (key.path.starts_with("tier.*")) {
      for (const auto& [name, tier] : config.core.tiers) {
        add(key, path_with(key, toml_key(name)), name);
      }
    } else if (is_of_alert(key)) {
      for (const auto& [name, rule] : config.alerts) add(key, path_with(key, toml_key(name)), name);
    } else {
      for (const auto& [device, bytes] : config.core.device_reserve) {
        add(key, path_with(key, to_text(device)), to_text(device));
      }
    }
  }
  return shown;
}

std::string keys_of(const AlertRule& rule) {
  Config config;
  config.alerts["is"] = rule;
  std::string text;
  for (const Key& key : keys()) {
    if (!is_of_alert(key)) continue;
    const auto value = as_toml(key.slot(config, "is"));
    if (!value || value == as_toml(key.slot(config, "default"))) continue;
    text += std::string(parts_of(key).last) + " = " + *value + "\n";
  }
  return text;
}

std::string default_file(Mode mode) {
  Config config = built_in(mode);
  std::string text =
      "# The configuration of Berth. What is commented out here holds anyway: a line says\n"
      "# something else only where its '#' is gone. docs/config.md tells where files are looked\n"
      "# for and which one wins; `berth config show --origin` what holds now, and why.\n";
  std::string section;
  for (const Key& key : keys()) {
    if (key.path.starts_with(kProject)) continue;
    const Parts parts = parts_of(key);
    if (parts.section != section) {
      section = parts.section;
      text += "\n" + std::string(has_name(key) ? "#" : "") + header(section) + "\n";
    }
    append_wrapped(text, "# ", key.doc);
    append_wrapped(text, "# ", "Takes " + in_words(key) + ".");
    const std::string value =
        has_name(key) ? example(key) : as_toml(slot_of(key, config)).value_or("\"\"");
    text += "#" + std::string(parts.last) + " = " + value + "\n";
  }
  return text;
}

std::string markdown_tables() {
  Config user = built_in(Mode::kUser);
  Config system = built_in(Mode::kSystem);
  std::string text;
  std::string section;
  for (const Key& key : keys()) {
    const Parts parts = parts_of(key);
    if (parts.section != section) {
      section = parts.section;
      const bool project = key.path.starts_with(kProject);
      text += (text.empty() ? "" : "\n");
      text += project ? "### In a project's `.berth.toml`\n" : "### `" + header(section) + "`\n";
      text += "| key | takes | default | what it does |\n|---|---|---|---|\n";
    }
    text += "| `" + std::string(parts.last) + "` | " + escaped_for_table(in_words(key)) + " | " +
            default_cell(key, user, system) + " | " + escaped_for_table(key.doc) + " |\n";
  }
  return text;
}

std::string json_schema() {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object().key("$schema").text("https://json-schema.org/draft/2020-12/schema");
  out.key("title").text("berth.toml, the configuration of Berth");
  out.key("type").text("object").key("properties").begin_object();
  for (const Section& section : sections()) append_section(section, out.key(section.name));
  out.end_object().key("additionalProperties").boolean(false).end_object();
  return out.take() + "\n";
}

}  // namespace berth::config
