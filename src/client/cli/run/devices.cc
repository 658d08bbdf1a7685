// SPDX-License-Identifier: Apache-2.0
#include "cli/run/devices.h"

#include <algorithm>

#include "base/number.h"
#include "cli/options.h"
#include "cli/render/text.h"

namespace berth::cli {
namespace {

bool looks_like_uuid(std::string_view text) {
  return (text.starts_with("GPU-") || text.starts_with("MIG-")) && text.size() > 4;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

bool begins_with(DeviceId device, const DevicePrefix& prefix) {
  return lower(to_text(device)).starts_with(lower(prefix));
}

std::string listed(std::span<const DeviceView> devices) {
  if (devices.empty()) return "there is none";
  std::string text = "there is ";
  for (const DeviceView& device : devices) {
    if (!text.ends_with(' ')) text += ", ";
    text += std::to_string(device.index) + " = " + to_text(device.id);
  }
  return text;
}

Result<DeviceName> resolve_prefix(const DevicePrefix& prefix, std::span<const DeviceView> devices) {
  if (const std::optional<DeviceId> whole = parse_device_id(prefix)) return DeviceName(*whole);
  std::vector<DeviceId> found;
  for (const DeviceView& device : devices) {
    if (begins_with(device.id, prefix)) found.push_back(device.id);
  }
  if (found.size() == 1) return DeviceName(found[0]);
  if (found.size() > 1) return wrong("several GPUs begin with " + quoted(prefix) + ": write more");
  return Error{Errc::kUnavailable, "no GPU begins with " + quoted(prefix) + "; " + listed(devices)};
}

}  // namespace

Result<DeviceChoice> parse_device_choice(std::string_view text) {
  DeviceChoice choice;
  if (text == "any") return choice;
  if (const auto count = parse_number<std::uint32_t>(text)) {
    if (*count == 0) {
      return wrong("0 GPUs are no request; the GPU with index 0 is written with a comma: -g 0,");
    }
    choice.count = *count;
    return choice;
  }
  std::vector<std::string_view> words = items_of(text);
  if (words.size() > 1 && words.back().empty()) words.pop_back();
  for (const std::string_view word : words) {
    if (const auto index = parse_number<std::uint32_t>(word)) {
      choice.names.emplace_back(*index);
    } else if (looks_like_uuid(word)) {
      choice.names.emplace_back(DevicePrefix(word));
    } else {
      return wrong(quoted(text) +
                   " names no GPUs: write how many (2), which by index (0, or 0,1), "
                   "by UUID (GPU-5a1c…), or any");
    }
  }
  choice.count = static_cast<std::uint32_t>(choice.names.size());
  return choice;
}

bool needs_device_list(const DeviceChoice& choice) {
  return std::ranges::any_of(choice.names, [](const auto& name) {
    const DevicePrefix* prefix = std::get_if<DevicePrefix>(&name);
    return prefix != nullptr && !parse_device_id(*prefix);
  });
}

Result<std::vector<DeviceName>> resolve(const DeviceChoice& choice,
                                        std::span<const DeviceView> devices) {
  std::vector<DeviceName> names;
  for (const auto& name : choice.names) {
    DeviceName device;
    if (const std::uint32_t* index = std::get_if<std::uint32_t>(&name)) {
      device = *index;
    } else {
      TRY(resolved, resolve_prefix(std::get<DevicePrefix>(name), devices));
      device = resolved;
    }
    if (std::ranges::count(names, device) > 0) return wrong("-g names a GPU twice");
    names.push_back(device);
  }
  return names;
}

DeviceChoice choice_of_visible_devices(std::string_view value) {
  DeviceChoice choice{.count = 0, .names = {}};
  for (std::string_view word : items_of(value)) {
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (const auto index = parse_number<std::uint32_t>(word)) {
      choice.names.emplace_back(*index);
    } else if (looks_like_uuid(word)) {
      choice.names.emplace_back(DevicePrefix(word));
    } else {
      break;
    }
  }
  choice.count = static_cast<std::uint32_t>(choice.names.size());
  return choice;
}

std::vector<std::size_t> intersection(std::span<const LeasePart> parts,
                                      const DeviceChoice& choice) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const LeasePart& part = parts[i];
    const bool named = std::ranges::any_of(choice.names, [&part](const auto& name) {
      const std::uint32_t* index = std::get_if<std::uint32_t>(&name);
      return index != nullptr ? part.index == *index
                              : begins_with(part.device, std::get<DevicePrefix>(name));
    });
    if (named) positions.push_back(i);
  }
  return positions;
}

std::optional<Bytes> largest_budget(std::span<const LeasePart> parts,
                                    std::span<const DeviceView> devices) {
  std::optional<Bytes> largest;
  for (const LeasePart& part : parts) {
    const auto device = std::ranges::find(devices, part.device, &DeviceView::id);
    const std::optional<Bytes> capacity = device == devices.end() ? std::nullopt : device->capacity;
    if (!capacity) return std::nullopt;
    const Bytes kept = std::max(device->reserve, device->figures.driver_reserved.value_or(Bytes{}));
    const Bytes here = saturating_sub(*capacity, kept);
    largest = std::min(largest.value_or(here), here);
  }
  return largest;
}

std::string count_hint(std::string_view gpus, std::span<const LeasePart> parts, std::size_t here) {
  const auto count = parse_number<std::uint32_t>(gpus);
  if (!count || *count == 0 || *count >= here) return {};
  const bool has_it =
      std::ranges::any_of(parts, [&](const LeasePart& part) { return part.index == *count; });
  if (has_it) return {};
  const std::string number(gpus);
  return "-g " + number + " is how many GPUs; GPU " + number + " itself is -g " + number + ",";
}

}  // namespace berth::cli
