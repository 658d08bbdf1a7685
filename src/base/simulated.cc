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

namespace {

// Whether there is a driver of that version is for those to say who open the world.
std::string_view cuda_version(std::string_view spec) {
  constexpr std::string_view kKey = "cuda=";
  const std::size_t at = spec.find(kKey);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = spec.substr(at + kKey.size());
  return rest.substr(0, rest.find_first_not_of("0123456789."));
}

}  // namespace

std::string simulated_library_path(std::string_view program, std::string_view path,
                                   std::string_view spec) {
  std::string directory(program.substr(0, program.rfind('/') + 1));
  directory += "../lib/simgpu";
  if (const std::string_view version = cuda_version(spec); !version.empty()) {
    // Of this version there is the driver alone.
    directory = directory + "/cuda-" + std::string(version) + ":" + directory;
  }
  const bool first = path.starts_with(directory) &&
                     (path.size() == directory.size() || path[directory.size()] == ':');
  if (first) return std::string(path);
  // An empty entry would mean the current directory.
  return path.empty() ? directory : directory + ":" + std::string(path);
}

}  // namespace berth
