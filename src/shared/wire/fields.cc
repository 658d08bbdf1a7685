// SPDX-License-Identifier: Apache-2.0
#include "wire/fields.h"

#include <optional>
#include <string>
#include <variant>

namespace berth::wire {

DeviceId read_device_id(ObjectReader& reader, std::string_view field) {
  std::string uuid;
  reader.text(field, uuid);
  const std::optional<DeviceId> device = parse_device_id(uuid);
  if (!device) reader.refuse(field, "must be the UUID of a device");
  return device.value_or(DeviceId{});
}

void read_device_names(ObjectReader& reader, std::string_view field, std::size_t count_max,
                       std::vector<DeviceName>& out) {
  for (const auto& name : reader.numbers_or_texts(field, count_max)) {
    if (const auto* index = std::get_if<std::uint64_t>(&name)) {
      if (*index > kMax32) reader.refuse(field, "has an index that no device can have");
      out.emplace_back(static_cast<std::uint32_t>(*index));
    } else if (const auto uuid = parse_device_id(std::get<std::string>(name))) {
      out.emplace_back(*uuid);
    } else {
      reader.refuse(field, "must hold index numbers, or UUIDs as nvidia-smi -L prints them");
    }
  }
}

void read_device_names(ObjectReader& reader, std::string_view field, std::vector<DeviceName>& out) {
  for (const auto& name : reader.numbers_or_texts(field, kAnyCount)) {
    if (const auto* index = std::get_if<std::uint64_t>(&name)) {
      if (*index > kMax32) reader.refuse(field, "must be indices or UUIDs");
      out.emplace_back(static_cast<std::uint32_t>(*index));
    } else if (const auto uuid = parse_device_id(std::get<std::string>(name))) {
      out.emplace_back(*uuid);
    }
  }
}

}  // namespace berth::wire
