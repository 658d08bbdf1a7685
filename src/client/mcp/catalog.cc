// SPDX-License-Identifier: Apache-2.0
#include "mcp/catalog.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/letters.h"

namespace berth::mcp {
namespace {

constexpr std::size_t kNameMax = 64;  // The least that a client known to us allows.

bool is_name(std::string_view name) {
  const auto is_fit = [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kNameMax && std::ranges::all_of(name, is_fit);
}

template <class T>
bool have_names_once(const std::vector<T>& all, std::string T::* name) {
  std::set<std::string_view> seen;
  return std::ranges::all_of(
      all, [&](const T& one) { return !(one.*name).empty() && seen.insert(one.*name).second; });
}

template <class T>
const T* named(const std::vector<T>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &T::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const Tool* Catalog::tool(std::string_view tool_name) const {
  return named(tools, tool_name);
}

const Prompt* Catalog::prompt(std::string_view prompt_name) const {
  return named(prompts, prompt_name);
}

bool Catalog::has_resource(std::string_view uri) const {
  return std::ranges::find(resources, uri, &Resource::uri) != resources.end() ||
         std::ranges::any_of(templates, [&](const ResourceTemplate& one) {
           return variables_of(one.uri_template, uri).has_value();
         });
}

bool is_sound(const Catalog& catalog) {
  return std::ranges::all_of(catalog.tools, is_name, &Tool::name) &&
         have_names_once(catalog.tools, &Tool::name) &&
         have_names_once(catalog.prompts, &Prompt::name) &&
         have_names_once(catalog.resources, &Resource::uri) &&
         have_names_once(catalog.templates, &ResourceTemplate::uri_template) &&
         have_names_once(catalog.others, &OtherMethod::name);
}

std::optional<std::vector<std::string>> variables_of(std::string_view uri_template,
                                                     std::string_view uri) {
  std::vector<std::string> values;
  while (true) {
    const std::size_t open = std::min(uri_template.find('{'), uri_template.size());
    if (!uri.starts_with(uri_template.substr(0, open))) return std::nullopt;
    uri.remove_prefix(open);
    uri_template.remove_prefix(open);
    if (uri_template.empty()) break;
    uri_template.remove_prefix(std::min(uri_template.find('}'), uri_template.size() - 1) + 1);
    // To where the template goes on, which a variable never reaches over.
    const char next = uri_template.empty() ? '/' : uri_template.front();
    const std::string_view value = uri.substr(0, std::min(uri.find('/'), uri.find(next)));
    if (value.empty()) return std::nullopt;
    values.emplace_back(value);
    uri.remove_prefix(value.size());
  }
  if (!uri.empty()) return std::nullopt;
  return values;
}

}  // namespace berth::mcp
