// SPDX-License-Identifier: Apache-2.0
// The variables that code has on a device, as a cubin's symbol table or a text of PTX declares
// them. Pure: it reads bytes and makes some; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::simgpu {

struct Global {
  std::string name;
  std::uint64_t bytes = 0;
  std::string initial;  // What it begins with; zeros follow. Of PTX it is not read.
};

/// Of a cubin or a text of PTX; none of anything else.
std::vector<Global> globals_of(std::string_view image);

/// A cubin with these variables, all zeros, and no code.
std::string cubin_with(const std::vector<Global>& globals);

}  // namespace berth::simgpu
