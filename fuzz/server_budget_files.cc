// SPDX-License-Identifier: Apache-2.0
// The files of a lease, into which its user has written anything, and to which that user has
// given any size. The daemon reads them when it asks the driver: what it makes of them is
// of their own lease and its devices, nothing of it reaches another user's, and `use` has its size
// again.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "bytes.h"
#include "fuzz.h"
#include "os/files.h"
#include "os/processes.h"
#include "os/users.h"
#include "scratch.h"
#include "server/budget_files.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kContentMax = std::size_t{1} << 20U;
constexpr DeviceId kFirst = {1, 2};
constexpr DeviceId kSecond = {1, 3};

class FakeClock final : public os::Clock {
 public:
  Instant now() const override { return at; }
  UnixMs wall() const override { return {}; }
  Instant at;
};

// Emptied each time.
const std::string& directory() {
  return berth::fuzz::scratch_directory();
}

std::string content(const std::string& path) {
  auto read = os::read_file(path, kContentMax);
  return read.ok() ? *read : "";
}

Sample sample() {
  Sample sample;
  sample.driver_version = "575.1";
  for (const DeviceId id : {kFirst, kSecond}) {
    DeviceSample& device = sample.devices.emplace_back();
    device.id = id;
    device.model = "A card";
    device.processes.emplace();
    ProcessSample& listed = device.processes->emplace_back();
    listed.process = os::self();
    listed.used = mib(700);
  }
  return sample;
}

// The user has what was there, or a file of their own.
void write_use(fuzz::Bytes& input, const std::string& path, std::string text) {
  const auto how = input.number<std::uint8_t>();
  if (how % 8U == 0) {
    text = input.text(kContentMax);
  } else {
    // The start is where most of the sense is.
    const std::size_t size =
        how % 2U == 0 ? std::min<std::size_t>(text.size(), 1'024) : text.size();
    input.scribble(text.data(), size, 24);
    if (how % 8U == 1) text.resize(input.number<std::uint32_t>() % (2 * text.size()));
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

void run(fuzz::Bytes input) {
  fs::remove_all(directory() + "/leases");
  const UserId user = os::own_user();
  const enforce::Holder his{.handle = {1, 1}, .number = {1}, .user = user};
  const enforce::Holder hers{.handle = {2, 2}, .number = {2}, .user = {user.value + 1}};
  FakeClock clock;
  std::size_t warnings = 0;
  server::BudgetFiles files({.root = directory() + "/leases", .context = mib(300)},
                            directory() + "/contexts", clock, [&](const std::string& text) {
                              CHECK(text.find(to_text(his.handle)) == std::string::npos);
                              ++warnings;
                            });
  const std::vector<enforce::Budget> budgets = {{kFirst, gib(2)}, {kSecond, gib(1)}};
  using When = server::BudgetFiles::When;
  files.set_budgets(his, budgets, When::kNow);
  files.set_budgets(hers, budgets, When::kNow);
  const std::string his_use = directory() + "/leases/" + to_text(his.handle) + "/use";
  const std::string her_folder = directory() + "/leases/" + to_text(hers.handle);
  const std::string good = content(his_use);
  const std::string her_limit = content(her_folder + "/limit");
  CHECK(!good.empty() && !her_limit.empty());
  for (int rounds = 0; rounds < 4; ++rounds) {
    if (rounds % 2 == 0) write_use(input, his_use, good);
    clock.at = clock.at + seconds(1);
    files.before_question();
    std::size_t of_his = 0;
    for (const ChargeSample& charge : files.charges({})) {
      CHECK(charge.device == kFirst || charge.device == kSecond);
      if (charge.lease == his.handle) ++of_his;
      CHECK(charge.excess <= charge.charged);
      if (charge.lease == hers.handle) CHECK(charge.charged == Bytes{} && charge.peak == Bytes{});
    }
    CHECK(of_his <= budgets.size());
    files.learn(sample());
    files.set_unaccounted(his.handle, {mib(1), mib(2)}, {true, false});
    CHECK(fs::file_size(his_use) == good.size());
    CHECK(content(her_folder + "/limit") == her_limit);
  }
  CHECK(warnings <= 4);
  // And another lease of theirs begins anew.
  files.set_budgets(his, {}, When::kNow);
  files.tidy_all();
  fs::remove(directory() + "/contexts");
}

}  // namespace
}  // namespace berth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::run({data, size});
  return 0;
}
