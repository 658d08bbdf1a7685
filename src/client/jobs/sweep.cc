// SPDX-License-Identifier: Apache-2.0
#include "jobs/sweep.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/fnv1a.h"
#include "base/json_tree.h"
#include "base/json_writer.h"
#include "base/letters.h"
#include "model/request.h"

namespace berth::jobs {
namespace {

using Kind = JsonTree::Kind;

Error invalid(std::string message) {
  return {Errc::kInvalid, std::move(message)};
}

bool is_name(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

std::optional<std::string> scalar(const JsonTree::Node& node) {
  switch (node.kind) {
    case Kind::kText:
      return text_of(node);
    case Kind::kNumber:
      return std::string(node.text);
    case Kind::kTrue:
      return "true";
    case Kind::kFalse:
      return "false";
    case Kind::kNull:
      return "";
    case Kind::kArray:
    case Kind::kObject:
      return std::nullopt;
  }
  return std::nullopt;
}

Result<Parameters> parameters_in(const JsonTree& tree) {
  Parameters parameters;
  for (std::uint32_t at = 1; at < tree[0].end;) {
    const std::optional<std::string> name = text_of(tree[at]);
    const JsonTree::Node& value = tree[at + 1];
    if (!name || !is_name(*name)) {
      return invalid("the name \"" + name.value_or("") + "\" is not made of letters, digits and _");
    }
    std::optional<std::string> text = scalar(value);
    if (!text || text->contains('\0')) {
      return invalid("the value of \"" + *name + "\" is neither a text nor a number");
    }
    parameters.emplace_back(*name, *std::move(text));
    at = value.end;
  }
  return parameters;
}

std::string upper(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

struct Axis {
  std::string name;
  std::vector<std::string> values;
};

Result<Axis> axis_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  Axis axis{.name = text.substr(0, equals), .values = {}};
  if (equals == std::string::npos || !is_name(axis.name)) {
    return invalid("'" + text + "' is not NAME=A,B,...: lr=1e-3,3e-4");
  }
  std::string_view rest = std::string_view(text).substr(equals + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    axis.values.emplace_back(rest.substr(0, comma));
    if (axis.values.back().empty()) return invalid("'" + text + "' has a value that is empty");
    if (comma == std::string_view::npos) return axis;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<Parameters> parameters_of(std::string_view line) {
  if (line.contains('\0')) return invalid("it holds a NUL character");
  if (!line.starts_with('{')) return Parameters{{"item", std::string(line)}};
  const auto parsed = JsonTree::parse_strictly(line);
  const auto* tree = std::get_if<JsonTree>(&parsed);
  if (tree == nullptr) {
    const auto& fault = std::get<JsonTree::Fault>(parsed);
    return invalid("it is no JSON object (byte " + std::to_string(fault.byte) + ")");
  }
  return parameters_in(*tree);
}

Result<std::vector<std::string>> lines_of_each(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const Result<Parameters> parameters = parameters_of(line);
    if (!parameters.ok()) {
      return invalid("line " + std::to_string(number) + ": " + parameters.error().message);
    }
    lines.emplace_back(line);
  }
  if (lines.empty()) return invalid("there is no member: each line is one");
  if (lines.size() > kSetMembersMax) {
    return invalid("a set has at most " + std::to_string(kSetMembersMax) + " members");
  }
  return lines;
}

Result<std::vector<std::string>> lines_of_grid(const std::vector<std::string>& axes) {
  std::vector<Axis> all;
  std::size_t count = 1;
  for (const std::string& text : axes) {
    TRY(axis, axis_of(text));
    if (std::ranges::find(all, axis.name, &Axis::name) != all.end()) {
      return invalid("--grid names " + axis.name + " twice");
    }
    count *= axis.values.size();
    if (count > kSetMembersMax) {
      return invalid("a set has at most " + std::to_string(kSetMembersMax) + " members");
    }
    all.push_back(std::move(axis));
  }
  std::vector<std::string> lines;
  for (std::size_t index = 0; index < count; ++index) {
    JsonWriter writer;
    writer.begin_object();
    std::size_t below = count;
    for (const Axis& axis : all) {
      below /= axis.values.size();
      writer.key(axis.name).text(axis.values[index / below % axis.values.size()]);
    }
    lines.push_back(writer.end_object().take());
  }
  return lines;
}

std::string filled_in(std::string_view word, const Parameters& parameters) {
  std::string filled;
  while (!word.empty()) {
    const std::size_t open = word.find('{');
    filled.append(word.substr(0, open));
    if (open == std::string_view::npos) break;
    word.remove_prefix(open);
    const std::size_t close = word.find('}');
    const std::string_view name =
        close == std::string_view::npos ? std::string_view() : word.substr(1, close - 1);
    const auto known = std::ranges::find(parameters, name, &Parameters::value_type::first);
    if (name.empty() || known == parameters.end()) {
      filled.push_back('{');
      word.remove_prefix(1);
      continue;
    }
    filled.append(known->second);
    word.remove_prefix(close + 1);
  }
  return filled;
}

std::uint32_t seed_of(std::uint32_t seed, Parameters parameters) {
  constexpr std::string_view kEnd("\0", 1);
  std::ranges::sort(parameters);
  std::uint64_t hash = fnv1a(kEnd, fnv1a(std::to_string(seed)));
  for (const auto& [name, value] : parameters) {
    hash = fnv1a(kEnd, fnv1a(value, fnv1a(kEnd, fnv1a(name, hash))));
  }
  return static_cast<std::uint32_t>((hash ^ (hash >> 32U)) & 0x7fffffffU);
}

std::vector<std::string> variables_of(std::string_view line, const Parameters& parameters,
                                      std::uint64_t number) {
  std::vector<std::string> variables = {"BERTH_ITEM=" + std::string(line),
                                        "BERTH_MEMBER=" + std::to_string(number)};
  for (const auto& [name, value] : parameters) {
    variables.push_back("BERTH_EACH_" + upper(name) + "=" + value);
  }
  return variables;
}

}  // namespace berth::jobs
