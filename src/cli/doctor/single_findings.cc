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
  Finding finding{.check = "checkpoints",
                  .level = Level::kSkip,
                  .consequence = "berth pause stops programs (--mode freeze), and moves no memory"};
  if (major == 0) {
    finding.fact = "the version of the driver is not known";
    finding.consequence = "berth pause tells whether it can move memory";
  } else if (major < kCheckpointsSince) {
    finding.fact = "driver " + version + " has no checkpoint calls, which came with 570";
  } else if (facts.enforcement.machine == "aarch64") {
    finding.fact = "on aarch64 the driver refuses to move memory to the host";
  } else {
    std::vector<std::string> able;
    std::vector<std::string> unable;
    for (const Ability& ability : kAbilities) {
      (ability.since <= major ? able : unable)
          .push_back(std::string(ability.what) + " (" + std::to_string(ability.since) + ")");
    }
    finding = {.check = "checkpoints",
               .fact = "driver " + version + " can move memory to the host and back (570)"};
    if (!able.empty()) finding.fact += "; knows " + joined(able);
    if (!unable.empty()) finding.fact += "; does not know " + joined(unable);
  }
  return finding;
}

Finding look_at_lease_files(const DirectoryFacts& leases) {
  Finding finding{.check = "lease_files"};
  if (!leases.own_file_system) {
    finding.level = Level::kWarn;
    finding.fact = leases.path + " has no file system of its own";
    finding.consequence = "whoever holds a lease can fill the one that it lies in";
    finding.cure = "systemctl start run-berth-berthd.leases.mount";
  } else if (leases.free && *leases.free < kLeaseFilesLow) {
    finding.level = Level::kWarn;
    finding.fact = leases.path + " is full";
    finding.consequence = "new leases are not held to their budgets";
    finding.cure = "df -h " + leases.path;
  } else {
    finding.fact = leases.path + " has a file system of its own";
  }
  return finding;
}

}  // namespace berth::cli
