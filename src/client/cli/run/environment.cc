// SPDX-License-Identifier: Apache-2.0
#include "cli/run/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/number.h"
#include "base/simulated.h"
#include "cli/render/phrases.h"
#include "cli/render/text.h"
#include "cli/run/devices.h"
#include "cli/terminal.h"

namespace berth::cli {
namespace {

constexpr const char* kHandle = "BERTH_LEASE_ID";
constexpr const char* kNumber = "BERTH_LEASE";
constexpr const char* kOuter = "BERTH_OUTER_LEASES";
constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
constexpr const char* kVisibleToContainers = "NVIDIA_VISIBLE_DEVICES";
// Each is about one lease; none of an outer one may be left.
constexpr std::array kOfALease = {
    kHandle,           kNumber,         kOuter,         "BERTH_GPUS", "BERTH_VRAM_BYTES",
    "BERTH_LEASE_DIR", "BERTH_ON_FULL", "BERTH_RESTART"};
constexpr std::size_t kValueMax = 4'096;
constexpr std::size_t kOuterMax = 32;

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// No slash: several CUDA_* variables name libraries and directories, which are not the daemon's to
// choose.
bool is_plain(std::string_view value) {
  return value.size() <= kValueMax && std::ranges::all_of(value, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::string_view("-_,.:").find(c) != std::string_view::npos;
         });
}

bool is_accepted(std::string_view name) {
  return name.starts_with("CUDA_") || name.starts_with("NVIDIA_") || name.starts_with("BERTH_");
}

// What is no number there is passed over: it is for the check of a request that would wait on
// itself, and nothing else.
std::vector<LeaseId> numbers_in(std::string_view list) {
  std::vector<LeaseId> ids;
  while (!list.empty() && ids.size() < kOuterMax) {
    const std::string_view word = list.substr(0, list.find(','));
    const auto number = parse_number<std::uint64_t>(word);
    if (number && *number > 0) ids.push_back({*number});
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return ids;
}

std::string comma_list(const std::vector<LeaseId>& ids) {
  std::string text;
  for (const LeaseId id : ids) text += (text.empty() ? "" : ",") + to_text(id);
  return text;
}

// The entries of "a,b,c" at these positions.
std::string entries_at(std::string_view list, std::span<const std::size_t> positions) {
  const std::vector<std::string_view> items = items_of(list);
  std::string kept;
  for (std::size_t position = 0; position < items.size(); ++position) {
    if (std::ranges::count(positions, position) == 0) continue;
    kept.append(kept.empty() ? "" : ",").append(items[position]);
  }
  return kept;
}

// The user has said which devices this command may see; the lease has others, or more.
Status narrow(const std::string& preset, const wire::LeaseAnswer& lease, Variables& variables) {
  const std::vector<LeasePart>& parts = lease.view.parts;
  const std::vector<std::size_t> kept = intersection(parts, choice_of_visible_devices(preset));
  if (kept.size() == parts.size()) return Unit{};
  const std::string said = "CUDA_VISIBLE_DEVICES is \"" + preset + "\"";
  if (kept.empty()) {
    return Error{Errc::kInvalid,
                 said + ", and the lease is on " + devices_of(parts) + ": unset it to see that"};
  }
  for (const char* name : {kVisible, kVisibleToContainers}) {
    const auto found = variables.changes.set.find(name);
    if (found != variables.changes.set.end()) found->second = entries_at(found->second, kept);
  }
  std::vector<LeasePart> seen;
  seen.reserve(kept.size());
  for (const std::size_t position : kept) seen.push_back(parts[position]);
  variables.visible = seen;
  variables.narrowed = said + ": of the lease's GPUs the command sees " + devices_of(seen);
  return Unit{};
}

}  // namespace

bool is_of_lease(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  const auto is_name = [name](const char* known) { return name == known; };
  return std::ranges::any_of(kOfALease, is_name) || name == kVisible ||
         name == kVisibleToContainers || name == "CUDA_DEVICE_ORDER" || name == "LD_PRELOAD" ||
         name == "LD_AUDIT";
}

std::optional<OuterLease> outer_lease() {
  const std::optional<std::string> text = variable(kHandle);
  if (!text || text->empty()) return std::nullopt;
  OuterLease outer{.handle_text = *text, .handle = parse_handle(*text), .ancestors = {}};
  outer.ancestors = numbers_in(variable(kNumber).value_or(""));
  std::ranges::copy(numbers_in(variable(kOuter).value_or("")), std::back_inserter(outer.ancestors));
  return outer;
}

Result<Variables> variables_for(const VariablesInput& input) {
  Variables variables;
  variables.visible = input.lease.view.parts;
  for (const char* name : kOfALease) variables.changes.unset.emplace_back(name);
  for (const auto& [name, value] : input.lease.env) {
    if (is_accepted(name) && is_plain(value)) variables.changes.set[name] = value;
  }
  variables.changes.set["BERTH_SOCKET"] = input.socket;
  if (!input.outer.empty()) variables.changes.set[kOuter] = comma_list(input.outer);
  std::erase_if(variables.changes.unset, [&variables](const std::string& name) {
    return variables.changes.set.contains(name);
  });
  if (input.library_path) variables.changes.set["LD_LIBRARY_PATH"] = *input.library_path;
  if (input.preset_devices) {
    TRY_STATUS(narrow(*input.preset_devices, input.lease, variables));
  }
  return variables;
}

std::string library_path_with_simulated_driver(const std::string& own_path) {
  return simulated_library_path(own_path, environment_text("LD_LIBRARY_PATH"),
                                environment_text("BERTH_SIM"));
}

std::optional<std::string> preset_visible_devices() {
  if (outer_lease()) return std::nullopt;
  return variable(kVisible);
}

}  // namespace berth::cli
