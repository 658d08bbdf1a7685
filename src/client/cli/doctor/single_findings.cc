// SPDX-License-Identifier: Apache-2.0
// Findings that judge() takes from here, a function each. Pure.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"
#include "cli/doctor/judge.h"
#include "cli/render/phrases.h"

namespace berth::cli {
namespace {

struct Ability {
  unsigned since;  // NVIDIA's driver of this number.
  std::string_view what;
};
constexpr std::array kAbilities = {
    Ability{580, "restores on another GPU of the kind"},
    Ability{590, "processes launched as a job"},
    Ability{610, "CUDA IPC within a job"},
    Ability{615, "storage of one's own"},
};
constexpr unsigned kCheckpointsSince = 570;

constexpr Bytes kLeaseFilesLow = mib(1);

}  // namespace

// What a driver of that number can by what is documented. Whether it does, a first pause tells.
Finding look_at_pausing(const DoctorFacts& facts) {
  const std::string version = facts.daemon ? facts.daemon->probe.driver_version : "";
  const unsigned major = leading_number(version);
  constexpr std::string_view kCheck = "checkpoints";
  if (major == 0) {
    return skipped(kCheck, {.fact = "the version of the driver is not known",
                            .consequence = "berth pause tells whether it can move memory"});
  }
  const std::string moves_none = "berth pause stops programs (--mode freeze), and moves no memory";
  if (major < kCheckpointsSince) {
    return skipped(kCheck,
                   {.fact = "driver " + version + " has no checkpoint calls, which came with 570",
                    .consequence = moves_none});
  }
  if (facts.enforcement.machine == "aarch64") {
    return skipped(kCheck, {.fact = "on aarch64 the driver refuses to move memory to the host",
                            .consequence = moves_none});
  }
  std::vector<std::string> able;
  std::vector<std::string> unable;
  for (const Ability& ability : kAbilities) {
    (ability.since <= major ? able : unable)
        .push_back(std::string(ability.what) + " (" + std::to_string(ability.since) + ")");
  }
  return fine(kCheck, "driver " + version + " can move memory to the host and back (570)" +
                          (able.empty() ? "" : "; knows " + joined(able)) +
                          (unable.empty() ? "" : "; does not know " + joined(unable)));
}

Finding look_at_lease_files(const DirectoryFacts& leases) {
  constexpr std::string_view kCheck = "lease_files";
  if (!leases.own_file_system) {
    return warning(kCheck, {.fact = leases.path + " has no file system of its own",
                            .consequence = "whoever holds a lease can fill the one that it lies in",
                            .cure = "systemctl start run-berth-berthd.leases.mount"});
  }
  if (leases.free && *leases.free < kLeaseFilesLow) {
    return warning(kCheck, {.fact = leases.path + " is full",
                            .consequence = "new leases are not held to their budgets",
                            .cure = "df -h " + leases.path});
  }
  return fine(kCheck, leases.path + " has a file system of its own");
}

}  // namespace berth::cli
