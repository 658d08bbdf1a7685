// SPDX-License-Identifier: Apache-2.0
// Note [Bounds] of core/backfill.h: the shortcuts of a pass over the queue decide what a full pass
// decides. Two coordinators, one of which takes no shortcut, play the same random stories.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/sanitizers.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

// Records by kind, grants and who was passed in full.
std::string decided(const Story& story, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < story.effects.size(); ++i) {
    const auto* append = std::get_if<Append>(&story.effects[i]);
    if (append == nullptr) continue;
    out += std::string(name_of(append->record.fact));
    if (const auto* grant = std::get_if<LeaseGranted>(&append->record.fact)) {
      out += " " + std::to_string(grant->id.value) + (grant->passed_others ? " passing" : "");
      for (const Part& part : grant->parts) {
        out += " " + std::to_string(part.device.low) + ":" + std::to_string(part.budget.value);
      }
    } else if (const auto* passed = std::get_if<RequestPassed>(&append->record.fact)) {
      out += " " + std::to_string(passed->id.value);
    }
    out += "; ";
  }
  return out;
}

class Twins {
 public:
  Twins(const Settings& settings, std::uint64_t seed)
      : random_(seed), shortcut_(settings, kDevices), full_(settings, kDevices) {
    for (Story* story : {&shortcut_, &full_}) {
      for (std::size_t i = 3; i < kDevices.size(); ++i) story->hardware[i].model = "Other";
      (void)story->sample();
    }
    full_.coordinator.take_no_shortcuts();
  }

  /// False once the two differ.
  bool step() {
    const std::size_t from = shortcut_.effects.size();
    const std::uint64_t what = pick(20);
    const std::uint64_t whom = shortcut_.handles == 0 ? 0 : pick(shortcut_.handles) + 1;
    if (what < 8) {
      const Request request = draw();
      const auto user = static_cast<std::uint32_t>(1000 + pick(3));
      both([&](Story& s) { (void)s.ask(request, user); });
    } else if (what < 11) {
      both([&](Story& s) { (void)s.claim(whom); });
    } else if (what < 14) {
      both([&](Story& s) { (void)s.end(whom); });
    } else if (what == 14) {
      const bool parked = pick(2) == 0;
      both([&](Story& s) { (void)s.feed(Park{{1}, {{1000}, true}, {0, whom}, {parked}}); });
    } else if (what == 15) {
      const Bytes vram = gib(1 + pick(12));
      both([&](Story& s) {
        (void)s.feed(Resize{.token = {1},
                            .actor = {{1000}, true},
                            .lease = {whom},
                            .body = {.vram = vram, .wait_max = hours(1)}});
      });
    } else if (what == 16) {
      const Bytes bytes = gib(pick(6));
      const std::size_t on = pick(kDevices.size());
      both([&](Story& s) {
        s.use(90'000, bytes, on);  // An unmanaged process.
        (void)s.sample();
      });
    } else {
      const Duration time = seconds(1 + static_cast<std::int64_t>(pick(what == 17 ? 1200 : 30)));
      both([&](Story& s) {
        (void)s.pass(time);
        (void)s.sample();
      });
    }
    grants_ += granted(from);
    return decided(shortcut_, from) == decided(full_, from) &&
           shortcut_.effects.size() == full_.effects.size();
  }
  std::string reported() const { return decided(shortcut_, 0) + "\nin full: " + decided(full_, 0); }
  std::size_t grants() const { return grants_; }

 private:
  static inline const std::vector<Bytes> kDevices{gib(16), gib(16), gib(16),
                                                  gib(16), gib(12), gib(24)};

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }
  template <class F>
  void both(const F& feed) {
    feed(shortcut_);
    feed(full_);
  }
  std::size_t granted(std::size_t from) const {
    std::size_t count = 0;
    for (std::size_t i = from; i < shortcut_.effects.size(); ++i) {
      const auto* append = std::get_if<Append>(&shortcut_.effects[i]);
      count += append != nullptr && std::holds_alternative<LeaseGranted>(append->record.fact);
    }
    return count;
  }
  Request draw() {
    Request request =
        pick(5) == 0 ? Story::whole() : Story::budget(gib(std::uint64_t{1} << pick(5)));
    if (pick(2) == 0) request.device_count = static_cast<std::uint32_t>(2 + pick(3));
    if (pick(6) == 0) request.devices = {static_cast<std::uint32_t>(pick(kDevices.size()))};
    request.mixed = pick(2) == 0;
    request.priority = static_cast<Priority>(pick(4));
    if (pick(3) == 0) request.limit = seconds(1 + static_cast<std::int64_t>(pick(1200)));
    if (pick(3) == 0) request.eta = seconds(1 + static_cast<std::int64_t>(pick(1200)));
    if (pick(8) == 0) request.ttl = seconds(1 + static_cast<std::int64_t>(pick(600)));
    if (request.ttl) request.limit.reset();
    if (pick(4) == 0) request.session = "s" + std::to_string(pick(2));
    return request;
  }

  std::mt19937_64 random_;
  Story shortcut_;
  Story full_;
  std::size_t grants_ = 0;
};

TEST(Shortcuts, OfAPassDecideWhatAFullPassDecides) {
  std::size_t grants = 0;
  for (std::uint64_t seed = 1; seed <= 100 / kRepeatedShare; ++seed) {
    Settings settings{.order = static_cast<Order>(seed % 3), .reserve = {}};
    settings.backfill = seed % 8 != 0;
    settings.claim_within = hours(1);
    settings.pass_max = minutes(static_cast<std::int64_t>(seed % 4) * 5);
    if (seed % 5 == 0) settings.limits_default = {.leases_max = 12, .vram_max = gib(40)};
    Twins twins(settings, seed);
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(twins.step()) << "seed " << seed << ", step " << i << ": " << twins.reported();
    }
    grants += twins.grants();
  }
  EXPECT_GT(grants, 1'000U / kRepeatedShare);  // Else it would be of little worth.
}

}  // namespace
}  // namespace berth::core
