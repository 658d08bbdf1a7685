// SPDX-License-Identifier: Apache-2.0
#include "base/simulated.h"

#include <cstdint>

namespace berth {

std::string simulated_world_name(std::string_view spec, std::string_view name) {
  if (!name.empty()) return std::string(name);
  std::uint32_t hash = 2166136261U;
  for (const char c : spec) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 16777619U;
  }
  std::string text = "w";
  for (unsigned shift = 32; shift > 0; shift -= 4) {
    text += "0123456789abcdef"[hash >> (shift - 4) & 0xfU];
  }
  return text;
}

std::string simulated_library_path(std::string_view program, std::string_view path) {
  std::string directory(program.substr(0, program.rfind('/') + 1));
  directory += "../lib/simgpu";
  const bool first = path.starts_with(directory) &&
                     (path.size() == directory.size() || path[directory.size()] == ':');
  if (first) return std::string(path);
  // An empty entry would mean the current directory.
  return path.empty() ? directory : directory + ":" + std::string(path);
}

}  // namespace berth
