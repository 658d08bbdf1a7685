// SPDX-License-Identifier: Apache-2.0
#include "cli/run/named_devices.h"

#include <utility>
#include <vector>

#include "wire/answers.h"

namespace berth::cli {

Result<DeviceChoice> choice_of(const std::optional<std::string>& gpus) {
  return gpus ? parse_device_choice(*gpus) : Result<DeviceChoice>(DeviceChoice{});
}

bool fill_devices(const DeviceChoice& choice, DaemonSession& session, Request& request) {
  std::vector<DeviceView> devices;
  if (needs_device_list(choice)) {
    auto list = session.ask({.route = wire::Route::kDevices}, wire::decode_devices);
    if (!list) return false;
    devices = std::move(list->list.items);
  }
  Result<std::vector<DeviceName>> names = resolve(choice, devices);
  if (!names.ok()) {
    session.fail(exit_code(names.error().code), names.error().message);
    return false;
  }
  request.device_count = choice.count;
  request.devices = *std::move(names);
  return true;
}

std::string hint_at_count(const std::optional<std::string>& gpus, std::span<const LeasePart> parts,
                          DaemonSession& session) {
  if (!gpus) return {};
  // A hint is no reason to fail.
  const auto list = client::told(
      session.client().connection().ask({.route = wire::Route::kDevices}), wire::decode_devices);
  return list ? count_hint(*gpus, parts, list->list.items.size()) : std::string();
}

}  // namespace berth::cli
