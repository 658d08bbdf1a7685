// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/spec.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/number.h"
#include "base/quantity.h"
#include "base/simulated.h"

namespace berth::simgpu {
namespace {

constexpr Bytes kCapacityMax = gib(1024);

struct SizeOption {
  std::string_view key;
  Bytes WorldSpec::* member;
  bool per_second;
};
constexpr SizeOption kSizeOptions[] = {
    {"context", &WorldSpec::context, false},
    {"reserved", &WorldSpec::reserved, false},
    {"checkpoint_bandwidth", &WorldSpec::checkpoint_bandwidth, true},
    {"checkpoint_memory", &WorldSpec::checkpoint_memory, false},
};

Error wrong(std::string_view item, const std::string& why) {
  return {Errc::kInvalid, "BERTH_SIM: '" + std::string(item) + "': " + why +
                              " (write for example 2x16GiB or 1x16GiB:RTX-5080,1x24GiB)"};
}

Result<Unit> add_devices(std::string_view item, WorldSpec& spec) {
  TRY(devices, parse_simulated_devices(item));
  if (devices.count > kDevicesMax - spec.devices.size())
    return wrong(item, "a simulated machine has at most 16 devices");
  spec.devices.insert(spec.devices.end(), devices.count,
                      DeviceSpec{std::move(devices.model), devices.capacity});
  return Unit{};
}

Result<Unit> set_cuda(std::string_view item, std::string_view version, WorldSpec& spec) {
  const auto* found = std::ranges::find(kCudaVersions, version, &CudaVersion::text);
  if (found == std::end(kCudaVersions)) {
    std::string known;
    for (const CudaVersion& each : kCudaVersions) known += " " + std::string(each.text);
    return wrong(item, "there are drivers of CUDA" + known);
  }
  spec.cuda = found->number;
  return Unit{};
}

struct Words {
  std::string_view no;
  std::string_view yes;
};

Result<Unit> set_word(std::string_view item, std::string_view word, const Words& words,
                      bool& option) {
  if (word != words.yes && word != words.no)
    return wrong(item, std::string(words.yes) + " or " + std::string(words.no));
  option = word == words.yes;
  return Unit{};
}

Result<Unit> set_option(std::string_view item, std::size_t equals, WorldSpec& spec) {
  const std::string_view key = item.substr(0, equals);
  std::string_view value = item.substr(equals + 1);
  if (key == "cuda") return set_cuda(item, value, spec);
  if (key == "context_known") return set_word(item, value, {"no", "yes"}, spec.context_known);
  if (key == "entry_points")
    return set_word(item, value, {"exported", "apart"}, spec.entry_points_apart);
  if (key == "checkpoint_cost") {
    const Result<Duration> cost = parse_duration(value);
    if (!cost.ok()) return wrong(item, cost.error().message);
    spec.checkpoint_cost = *cost;
    return Unit{};
  }
  const SizeOption* option = std::ranges::find(kSizeOptions, key, &SizeOption::key);
  if (option == std::end(kSizeOptions)) {
    return wrong(item,
                 "the options are context=SIZE, context_known=yes|no, reserved=SIZE, "
                 "cuda=VERSION, entry_points=exported|apart, "
                 "checkpoint_bandwidth=SIZE/s, checkpoint_cost=TIME and checkpoint_memory=SIZE");
  }
  if (option->per_second && value.ends_with("/s")) value.remove_suffix(2);
  const Result<Bytes> size = parse_bytes(value);
  if (!size.ok()) return wrong(item, size.error().message);
  if (*size > kCapacityMax) return wrong(item, "at most 1 TiB");
  spec.*option->member = *size;
  return Unit{};
}

}  // namespace

Result<WorldSpec> parse_spec(std::string_view text) {
  WorldSpec spec;
  for (std::string_view rest = text;;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    if (item.empty()) return wrong(text, "empty, or an item of the list is");
    if (const std::size_t equals = item.find('='); equals != std::string_view::npos) {
      TRY_STATUS(set_option(item, equals, spec));
    } else {
      TRY_STATUS(add_devices(item, spec));
    }
    if (item.size() == rest.size()) break;
    rest.remove_prefix(item.size() + 1);
  }
  if (spec.devices.empty()) return wrong(text, "it names no device");
  for (const DeviceSpec& device : spec.devices) {
    if (spec.reserved >= device.capacity)
      return wrong(text, "the driver's reserve leaves nothing of a device");
  }
  return spec;
}

}  // namespace berth::simgpu
