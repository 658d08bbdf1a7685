// SPDX-License-Identifier: Apache-2.0
// Cost of looking at 8 devices and 200 processes in leases once a second: the daemon as it is, over
// the simulated driver, its threads included; the probe, whose part is the driver's and /proc's,
// beside it. The programs stand still, so that no other work is in it.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "row.h"
#include "wire/answers.h"
#include "world.h"

namespace berth {
namespace {

constexpr int kLeases = 40;
constexpr std::size_t kProcesses = 200;
constexpr int kSeconds = 60;

/// Those that the last look found on all devices, each in a lease.
std::size_t processes_in_leases(client::Client& client) {
  const auto answer = client.connection().ask({.route = wire::Route::kStatus});
  CHECK(answer.ok());
  const auto status = wire::decode_status(answer->body);
  CHECK(status.ok());
  std::size_t count = 0;
  for (const LeaseView& lease : status->status.leases) count += lease.members.size();
  for (const DeviceView& device : status->status.devices) CHECK(device.unmanaged_processes.empty());
  return count;
}

pid_t probe_of(pid_t daemon) {
  const std::string path =
      "/proc/" + std::to_string(daemon) + "/task/" + std::to_string(daemon) + "/children";
  std::ifstream file(path);
  for (pid_t child = 0; file >> child;) {
    std::ifstream name("/proc/" + std::to_string(child) + "/comm");
    std::string text;
    if (name >> text && text == "berth-probe") return child;
  }
  CHECK(false);
}

void measure(const std::string& bin) {
  const bench::World world(bin, "8x80GiB");
  std::vector<pid_t> runs;
  for (int i = 0; i < kLeases; ++i) {
    runs.push_back(bench::start(
        {bin + "/berth", "run", "-q", "-m", "14G", "--", "sh", "-c",
         std::string("trap 'kill $all' TERM; for i in 1 2 3 4 5; do ") +
             "vram_user --quiet --bytes 1GiB --hold forever & all=\"$all $!\"; done; wait"}));
  }
  client::Client client = world.connect();
  while (processes_in_leases(client) < kProcesses) poll(nullptr, 0, 500);
  poll(nullptr, 0, 40'000);  // Until what was just asked is not a look any more.
  const pid_t probe = probe_of(world.daemon());
  const double daemon_before = bench::cpu_seconds(world.daemon());
  const double probe_before = bench::cpu_seconds(probe);
  poll(nullptr, 0, kSeconds * 1'000);
  const double daemon = bench::cpu_seconds(world.daemon()) - daemon_before;
  const double driver = bench::cpu_seconds(probe) - probe_before;
  CHECK(processes_in_leases(client) == kProcesses);
  bench::print({.name = "berthd, 8 devices and 200 processes in 40 leases at 1 Hz",
                .value = daemon / kSeconds * 100,
                .unit = "% of a core",
                .limit = 0.2});
  bench::print({.name = "its berth-probe, on the simulated driver",
                .value = driver / kSeconds * 100,
                .unit = "% of a core"});
  for (const pid_t run : runs) bench::end(run, SIGTERM);
}

}  // namespace
}  // namespace berth

int main() {
  const std::string bin = std::filesystem::canonical("/proc/self/exe").parent_path();
  CHECK(setenv("PATH", (bin + ":" + std::getenv("PATH")).c_str(), 1) == 0);
  berth::measure(bin);
}
