// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/lease_files.h"

namespace berth::cli {
namespace {

constexpr Bytes kLeaseFilesLow = mib(1);

}  // namespace

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
