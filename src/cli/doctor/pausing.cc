// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/pausing.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"
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

}  // namespace berth::cli
