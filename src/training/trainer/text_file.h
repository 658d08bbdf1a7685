// SPDX-License-Identifier: Apache-2.0
// A file with a text to be read, which need not fit into memory.
#pragma once

#include <string>

#include "base/result.h"
#include "os/mapping.h"

namespace berth::trainer {

/// kNotFound: it is not there. kInvalid: it is no file, or there is nothing in it.
Result<os::Mapping> open_text(const std::string& path);

}  // namespace berth::trainer
