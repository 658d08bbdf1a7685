// SPDX-License-Identifier: Apache-2.0
#include "wire/fields.h"

#include <optional>
#include <string>

namespace berth::wire {

DeviceId read_device_id(ObjectReader& reader, std::string_view field) {
  std::string uuid;
  reader.text(field, uuid);
  const std::optional<DeviceId> device = parse_device_id(uuid);
  if (!device) reader.refuse(field, "must be the UUID of a device");
  return device.value_or(DeviceId{});
}

}  // namespace berth::wire
