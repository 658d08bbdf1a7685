// SPDX-License-Identifier: Apache-2.0
// The name of this machine. Any thread.
#pragma once

#include <string>

namespace berth::os {

/// Its name without the domain; empty where it has none.
std::string host_name();

}  // namespace berth::os
