// SPDX-License-Identifier: Apache-2.0
// The OpenAPI file, share/openapi.json, as it was when the program was built.
#pragma once

#include <string_view>

namespace berth::server {

std::string_view openapi_json();

}  // namespace berth::server
