// SPDX-License-Identifier: Apache-2.0
#include "mcp/client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json_writer.h"

namespace berth::mcp {
namespace {

Fault unsupported(std::string_view version) {
  JsonWriter data;
  data.begin_object().plain_key("supported").begin_array();
  for (const std::string_view known : kModernVersions) data.plain_text(known);
  data.end_array().plain_key("requested").text(version).end_object();
  return {Code::kUnsupportedVersion, "this server does not speak that version of the protocol",
          data.take()};
}

Fault missing(std::string_view field, std::string_view what) {
  return {Code::kInvalidParams,
          "params._meta must have '" + std::string(field) + "', which is " + std::string(what)};
}

}  // namespace

std::string_view method_of(Ability ability) {
  switch (ability) {
    case Ability::kForm:
    case Ability::kUrl:
      return "elicitation/create";
    case Ability::kSampling:
      return "sampling/createMessage";
    case Ability::kRoots:
      return "roots/list";
  }
  std::unreachable();
}

std::string_view capabilities_of(Ability ability) {
  switch (ability) {
    case Ability::kForm:
      return R"({"elicitation":{}})";
    case Ability::kUrl:
      return R"({"elicitation":{"url":{}}})";
    case Ability::kSampling:
      return R"({"sampling":{}})";
    case Ability::kRoots:
      return R"({"roots":{}})";
  }
  std::unreachable();
}

Client client_of(const Object& info, const Object& capabilities) {
  const Object elicitation = capabilities.object("elicitation");
  const bool has_url = elicitation.has("url");
  // One that names neither knows forms alone: there was nothing else before 2025-11-25.
  const bool has_form = capabilities.has("elicitation") && (elicitation.has("form") || !has_url);
  return {
      .name = info.text("name").value_or(""),
      .version = info.text("version").value_or(""),
      .abilities = {has_form, has_url, capabilities.has("sampling"), capabilities.has("roots")}};
}

bool is_modern(const Object& params) {
  const Object meta = params.object("_meta");
  return meta.has(meta::kVersion) || meta.has(meta::kCapabilities);
}

std::variant<Client, Fault> modern_client(const Object& params) {
  const Object meta = params.object("_meta");
  const std::optional<std::string> version = meta.text(meta::kVersion);
  if (!version) return missing(meta::kVersion, "text");
  if (std::ranges::find(kModernVersions, *version) == kModernVersions.end()) {
    return unsupported(*version);
  }
  if (!meta.has_object(meta::kCapabilities)) return missing(meta::kCapabilities, "an object");
  return client_of(meta.object(meta::kClientInfo), meta.object(meta::kCapabilities));
}

std::string_view legacy_version(std::string_view wanted) {
  const auto known = std::ranges::find(kLegacyVersions, wanted);
  return known == kLegacyVersions.end() ? kLegacyVersions.front() : *known;
}

}  // namespace berth::mcp
