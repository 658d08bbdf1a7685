// SPDX-License-Identifier: Apache-2.0
#include "library/lease_variables.h"

#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "os/files.h"
#include "os/paths.h"

namespace berth::library {
namespace {

// Each is about one lease; none of an earlier one may be left.
constexpr std::array kOfALease = {
    "BERTH_LEASE_ID",       "BERTH_LEASE",           "BERTH_OUTER_LEASES", "BERTH_GPUS",
    "BERTH_VRAM_BYTES",     "BERTH_LEASE_DIR",       "BERTH_ON_FULL",      "BERTH_RESTART",
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"};

std::optional<std::string> variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void put(const std::string& name, const std::optional<std::string>& value) {
  if (value) {
    ::setenv(name.c_str(), value->c_str(), 1);
  } else {
    ::unsetenv(name.c_str());
  }
}

// Of what a daemon says only such names are taken, as `berth run` does.
bool is_accepted(std::string_view name) {
  return name.starts_with("CUDA_") || name.starts_with("NVIDIA_") || name.starts_with("BERTH_");
}

}  // namespace

LeaseVariables LeaseVariables::set(const wire::LeaseAnswer& lease, const std::string& socket,
                                   Before before) {
  const bool stale = before == Before::kLeaseThatIsOver;
  const std::set<std::string> of_a_lease(kOfALease.begin(), kOfALease.end());
  std::map<std::string, std::optional<std::string>> wanted;
  if (stale) {
    for (const std::string& name : of_a_lease) wanted[name] = std::nullopt;
  }
  for (const auto& [name, value] : lease.env) {
    if (is_accepted(name)) wanted[name] = value;
  }
  wanted["BERTH_SOCKET"] = socket;
  // Where its budget stands, also after a resize.
  const std::string directory = os::leases_directory(socket) + "/" + to_text(lease.view.handle);
  if (os::exists(directory)) wanted["BERTH_LEASE_DIR"] = directory;

  LeaseVariables variables;
  for (const auto& [name, value] : wanted) {
    const bool nobodys = stale && of_a_lease.contains(name);
    variables.changes_.push_back(
        {.name = name, .before = nobodys ? std::nullopt : variable(name), .now = value});
    put(name, value);
  }
  return variables;
}

void LeaseVariables::take_back() {
  for (const auto& [name, before, now] : std::exchange(changes_, {})) {
    if (variable(name) == now) put(name, before);
  }
}

}  // namespace berth::library
