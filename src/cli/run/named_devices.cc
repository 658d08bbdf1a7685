// SPDX-License-Identifier: Apache-2.0
#include "cli/run/named_devices.h"

#include <utility>
#include <vector>

#include "wire/answers.h"

namespace berth::cli {

Result<DeviceChoice> choice_of(const std::optional<std::string>& gpus) {
  return gpus ? parse_device_choice(*gpus) : Result<DeviceChoice>(DeviceChoice{});
}

bool fill_devices(const DeviceChoice& choice, Conversation& conversation, Request& request) {
  std::vector<DeviceView> devices;
  if (needs_device_list(choice)) {
    const auto body = conversation.ask({.route = wire::Route::kDevices});
    if (!body) return false;
    auto list = conversation.understood(wire::decode_devices(*body));
    if (!list) return false;
    devices = std::move(list->list.items);
  }
  Result<std::vector<DeviceName>> names = resolve(choice, devices);
  if (!names.ok()) {
    conversation.fail(exit_code(names.error().code), names.error().message);
    return false;
  }
  request.device_count = choice.count;
  request.devices = *std::move(names);
  return true;
}

}  // namespace berth::cli
