// SPDX-License-Identifier: Apache-2.0
// Writing to whatever stands behind a descriptor that is not ours (stderr), without ever waiting
// for its reader. The descriptor's flags stay as they are: others share them. Any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace berth::os {

/// So many of these bytes as went out at once: none, where nobody reads or nobody is there.
std::size_t write_promptly(int descriptor, std::string_view bytes);

}  // namespace berth::os
