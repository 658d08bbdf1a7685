// SPDX-License-Identifier: Apache-2.0
#include "mcp/answer.h"

#include <string>
#include <utility>

#include "mcp/listing.h"
#include "wire/json_reader.h"

namespace berth::mcp {
namespace {

// As the modern era has it: of which type it is, and who answers.
Send modern(const Id& id, std::string_view type, const Catalog& catalog, const Members& members,
            const Members& more_meta) {
  std::string line = result_line(id, [&](JsonWriter& out) {
    out.plain_key("resultType").plain_text(type);
    members(out);
    out.plain_key("_meta").begin_object();
    more_meta(out);
    out.plain_key(meta::kServerInfo);
    write_server(out, catalog);
    out.end_object();
  });
  return {std::move(line), id.json, {}, true};
}

void nothing(JsonWriter& /*out*/) {}

}  // namespace

Send complete(const Id& id, Era era, const Catalog& catalog, const Members& members) {
  if (era == Era::kLegacy) return {result_line(id, members), id.json, {}, true};
  return modern(id, "complete", catalog, members, nothing);
}

Send input_required(const Id& id, const Catalog& catalog, const InputRequired& result) {
  const auto members = [&](JsonWriter& out) { write_input_required(out, result); };
  return modern(id, "input_required", catalog, members, nothing);
}

Send listening_ended(const Id& id, const Catalog& catalog) {
  return modern(id, "complete", catalog, nothing,
                [&](JsonWriter& out) { out.plain_key(meta::kSubscription).json(id.json); });
}

Send refused(const std::optional<Id>& id, const Fault& fault) {
  return {error_line(id, fault), id ? id->json : "", fault.code, true};
}

Fault invalid(std::string message) {
  return {Code::kInvalidParams, std::move(message)};
}

Fault no_method(std::string_view method) {
  return {Code::kMethodNotFound, "there is no method '" + wire::shown(method) + "' here"};
}

Fault no_resource(Era era, std::string_view uri) {
  JsonWriter data;
  data.begin_object().plain_key("uri").text(uri).end_object();
  const Code code = era == Era::kModern ? Code::kInvalidParams : Code::kResourceNotFound;
  return {code, "there is no resource '" + wire::shown(uri) + "'", data.take()};
}

Fault missing_capability(Ability ability) {
  JsonWriter data;
  data.begin_object().plain_key("requiredCapabilities").json(capabilities_of(ability)).end_object();
  return {Code::kMissingCapability,
          "this needs a client that answers " + std::string(method_of(ability)), data.take()};
}

Fault full(std::string_view what, std::size_t most) {
  return {Code::kInternal, "there are " + std::to_string(most) + " " + std::string(what) +
                               " already; one of them must end first"};
}

}  // namespace berth::mcp
