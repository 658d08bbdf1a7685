// SPDX-License-Identifier: Apache-2.0
// Listings of a catalog, as clients are told: the members of the results of `server/discover`,
// `initialize` and the methods that list. Pure; any thread.
#pragma once

#include <string_view>

#include "base/json_writer.h"
#include "mcp/catalog.h"
#include "mcp/client.h"

namespace berth::mcp {

void write_discovery(JsonWriter& out, const Catalog& catalog);
void write_initialized(JsonWriter& out, const Catalog& catalog, std::string_view version);
void write_tools(JsonWriter& out, const Catalog& catalog);
void write_resources(JsonWriter& out, const Catalog& catalog);
void write_templates(JsonWriter& out, const Catalog& catalog);
void write_prompts(JsonWriter& out, const Catalog& catalog);

/// `name`, `title` and `version` of the server.
void write_server(JsonWriter& out, const Catalog& catalog);

}  // namespace berth::mcp
