// SPDX-License-Identifier: Apache-2.0
#include "base/simulated.h"

#include <algorithm>
#include <cstdint>

#include "base/letters.h"
#include "base/number.h"
#include "base/quantity.h"

namespace berth {
namespace {

constexpr Bytes kCapacityMin = mib(64);
constexpr Bytes kCapacityMax = gib(1024);
constexpr std::size_t kModelMax = 63;

bool is_model_letter(char c) {
  return is_letter_or_digit(c) || c == ' ' || c == '-' || c == '_' || c == '.';
}

Error bad_item(std::string_view item, const std::string& why) {
  return {Errc::kInvalid, "BERTH_SIM: '" + std::string(item) + "': " + why +
                              " (write for example 2x16GiB or 1x16GiB:RTX-5080,1x24GiB)"};
}

}  // namespace

Result<SimulatedDevices> parse_simulated_devices(std::string_view item) {
  SimulatedDevices devices;
  std::string_view size = item.substr(0, item.find(':'));
  if (size.size() < item.size()) {
    devices.model = item.substr(size.size() + 1);
    if (devices.model.empty() || devices.model.size() > kModelMax ||
        !std::ranges::all_of(devices.model, is_model_letter))
      return bad_item(item, "a model is 1 to 63 letters, digits, blanks, '-', '_' and '.'");
  }
  if (const std::size_t cross = size.find('x'); cross != std::string_view::npos) {
    devices.count = parse_number<std::size_t>(size.substr(0, cross)).value_or(0);
    if (devices.count == 0) return bad_item(item, "the number of devices is not a number above 0");
    size.remove_prefix(cross + 1);
  }
  const Result<Bytes> capacity = parse_bytes(size);
  if (!capacity.ok()) return bad_item(item, capacity.error().message);
  if (*capacity < kCapacityMin || *capacity > kCapacityMax)
    return bad_item(item, "a device has 64 MiB to 1 TiB");
  devices.capacity = *capacity;
  return devices;
}

Status check_simulated_devices(std::string_view spec) {
  for (std::string_view rest = spec;;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    if (item.find('=') == std::string_view::npos) {
      if (auto devices = parse_simulated_devices(item); !devices.ok()) return devices.error();
    }
    if (item.size() == rest.size()) return Unit{};
    rest.remove_prefix(item.size() + 1);
  }
}

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
