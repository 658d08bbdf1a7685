// SPDX-License-Identifier: Apache-2.0
// The bodies of requests. The daemon decodes them strictly: an unknown field, a wrong type, a
// fraction or an overflow is an error that names the field (to_api_error() in wire/error.h says how
// it is sent). The client leaves out what stands at its default, so that a daemon one minor version
// older meets a field it does not know only where something is asked that it cannot do. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/fields.h"
#include "base/result.h"
#include "model/bodies.h"
#include "model/routes.h"

namespace berth::wire {

std::string encode(const AnyBody& body);

/// As the body of that index.
Result<AnyBody> decode_body(std::size_t index, std::string_view text);
template <HasFields Body>
Result<Body> decode(std::string_view text) {
  TRY(body, decode_body(kBodyOfType<Body>, text));
  return std::get<Body>(std::move(body));
}

}  // namespace berth::wire
