// SPDX-License-Identifier: Apache-2.0
// Arguments of a tool, read into a struct by its table of fields: as strictly as the body of a
// request, since a model that writes a name wrongly has to hear of it. Any thread.
#pragma once

#include <string_view>

#include "base/fields.h"
#include "base/result.h"
#include "mcp/message.h"
#include "wire/field_reader.h"

namespace berth::mcp {

/// The first thing that is wrong is a sentence that a model can act on: failed() in mcp/outcome.h
/// makes a result of it. Where fault_of(arguments) is there, it says what does not go together.
template <HasFields T>
Result<T> read_arguments(std::string_view json) {
  wire::JsonDocument document(
      json, {.what = "the arguments", .manner = wire::Manner::kStrict, .size_max = kLineMax});
  wire::ObjectReader root = document.root();
  T arguments;
  wire::UserNames nobody;
  wire::FieldReader<side::kBody>(nobody).object(root, arguments);
  if constexpr (requires { fault_of(arguments); }) {
    if (const auto fault = fault_of(arguments)) root.refuse(fault->field, fault->why);
  }
  TRY_STATUS(document.status());
  return arguments;
}

}  // namespace berth::mcp
