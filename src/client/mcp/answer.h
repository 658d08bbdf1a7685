// SPDX-License-Identifier: Apache-2.0
// Answers to requests, whole: what both eras want to stand around the members of a result, and
// errors. Pure; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/json_writer.h"
#include "mcp/catalog.h"
#include "mcp/client.h"
#include "mcp/effect.h"
#include "mcp/fault.h"
#include "mcp/message.h"
#include "mcp/outcome.h"

namespace berth::mcp {

using Members = std::function<void(JsonWriter&)>;

/// A result that is all there is to say, with what `members` writes into it.
Send complete(const Id& id, Era era, const Catalog& catalog, const Members& members);
Send input_required(const Id& id, const Catalog& catalog, const InputRequired& result);
/// The result of a request that listened for changes.
Send listening_ended(const Id& id, const Catalog& catalog);

/// Without an id where that could not be read.
Send refused(const std::optional<Id>& id, const Fault& fault);

Fault invalid(std::string message);
Fault no_method(std::string_view method);
Fault no_resource(Era era, std::string_view uri);
Fault missing_capability(Ability ability);
/// There are as many as there may be.
Fault full(std::string_view what, std::size_t most);

}  // namespace berth::mcp
