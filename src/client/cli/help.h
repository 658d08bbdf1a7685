// SPDX-License-Identifier: Apache-2.0
// Help texts, made from what the verbs declare.
#pragma once

#include <cstddef>
#include <string>

#include "cli/verb.h"

namespace berth::cli {

/// `berth --help`: the verbs by group.
std::string overview(std::size_t width);

/// `berth VERB --help`: usage, what it does, options, examples.
std::string verb_help(const Invocation& invocation, std::size_t width);

}  // namespace berth::cli
