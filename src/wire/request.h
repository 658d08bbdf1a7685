// SPDX-License-Identifier: Apache-2.0
// The bodies of requests. The daemon decodes them strictly: an unknown field, a wrong type, a
// fraction or an overflow is an error that names the field (to_api_error() in wire/error.h says how
// it is sent). The client leaves out what stands at its default, so that a daemon one minor version
// older meets a field it does not know only where something is asked that it cannot do. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/result.h"
#include "model/bodies.h"

namespace berth::wire {

/// Of one of AnyBody.
template <HasFields Body>
std::string encode(const Body& body);
template <HasFields Body>
Result<Body> decode(std::string_view text);

}  // namespace berth::wire
