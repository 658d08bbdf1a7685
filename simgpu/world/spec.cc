// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/spec.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/number.h"
#include "base/quantity.h"

namespace berth::simgpu {
namespace {

constexpr Bytes kCapacityMin = mib(64);
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

bool is_model_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ' ||
         c == '-' || c == '_' || c == '.';
}

Result<Unit> add_devices(std::string_view item, WorldSpec& spec) {
  std::string_view size = item.substr(0, item.find(':'));
  std::string model = "GPU";
  if (size.size() < item.size()) {
    model = item.substr(size.size() + 1);
    if (model.empty() || model.size() > kModelLengthMax ||
        !std::ranges::all_of(model, is_model_letter))
      return wrong(item, "a model is 1 to 63 letters, digits, blanks, '-', '_' and '.'");
  }
  std::size_t count = 1;
  if (const std::size_t cross = size.find('x'); cross != std::string_view::npos) {
    count = parse_number<std::size_t>(size.substr(0, cross)).value_or(0);
    if (count == 0) return wrong(item, "the number of devices is not a number above 0");
    size.remove_prefix(cross + 1);
  }
  const Result<Bytes> capacity = parse_bytes(size);
  if (!capacity.ok()) return wrong(item, capacity.error().message);
  if (*capacity < kCapacityMin || *capacity > kCapacityMax)
    return wrong(item, "a device has 64 MiB to 1 TiB");
  if (count > kDevicesMax - spec.devices.size())
    return wrong(item, "a world has at most 16 devices");
  spec.devices.insert(spec.devices.end(), count, DeviceSpec{std::move(model), *capacity});
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
