// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/names.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace berth::checkpoint {
namespace {

constexpr std::array<std::string_view, 3> kSlots = {"regular", "best", "emergency"};
constexpr std::string_view kExtension = ".safetensors";
constexpr std::string_view kStep = "-step-";
constexpr std::size_t kNumberDigits = 8;  // At least; so that lists of files are in order.

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(wanted.size());
  return true;
}

}  // namespace

std::string_view to_text(Slot slot) {
  return kSlots[static_cast<std::size_t>(slot)];
}

std::string to_text(const FileName& name) {
  std::string number = std::to_string(name.number);
  if (number.size() < kNumberDigits) number.insert(0, kNumberDigits - number.size(), '0');
  return std::string(to_text(name.slot)) + "-" + number + std::string(kStep) +
         std::to_string(name.step) + std::string(kExtension);
}

std::optional<FileName> parse_file_name(std::string_view text) {
  FileName name;
  std::string_view rest = text;
  const auto* const slot = std::ranges::find_if(kSlots, [&](std::string_view word) {
    return rest.starts_with(word) && rest.substr(word.size()).starts_with('-');
  });
  if (slot == kSlots.end()) return std::nullopt;
  name.slot = static_cast<Slot>(slot - kSlots.begin());
  rest.remove_prefix(slot->size() + 1);
  const std::optional<std::uint64_t> number = take_number(rest);
  const bool step_follows = take(rest, kStep);
  const std::optional<std::uint64_t> step = take_number(rest);
  if (!number || !step_follows || !step || rest != kExtension) return std::nullopt;
  name.number = *number;
  name.step = *step;
  // Another spelling would be another file, which we could neither find again nor remove.
  return to_text(name) == text ? std::optional(name) : std::nullopt;
}

bool is_temporary(std::string_view name) {
  constexpr std::string_view kMark = ".tmp.";
  const std::size_t mark = name.find(kMark);
  if (mark == std::string_view::npos) return false;
  const std::string_view meant = name.substr(0, mark);
  return meant == kLatest || parse_file_name(meant).has_value();
}

std::vector<FileName> no_longer_kept(const std::vector<FileName>& names, Keep keep) {
  std::vector<FileName> newest_first = names;
  std::ranges::sort(newest_first, std::ranges::greater(), &FileName::number);
  std::array<unsigned, kSlots.size()> seen{};
  std::vector<FileName> result;
  for (const FileName& name : newest_first) {
    const unsigned kept_max = name.slot == Slot::kRegular ? std::max(keep.last, 1U) : 1;
    const bool for_ever =
        name.slot == Slot::kRegular && keep.every != 0 && name.step % keep.every == 0;
    unsigned& count = seen[static_cast<std::size_t>(name.slot)];
    if (++count > kept_max && !for_ever) result.push_back(name);
  }
  return result;
}

}  // namespace berth::checkpoint
