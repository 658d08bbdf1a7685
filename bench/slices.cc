// SPDX-License-Identifier: Apache-2.0
// Loss by taking turns: two sessions of 15 GiB on a device of 16, in simulated time over the real
// coordinator. A switch (one goes, the other comes) takes 1, 5 and 30 % of a turn of 30 s; beside
// turns that follow from what was measured, turns of 5 and of 30 s that nobody adapts. Lost is the
// time in which neither works. The simulated driver is asked once a second and when the coordinator
// wants to know, and takes 5 ms to answer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "core/coordinator.h"
#include "row.h"

namespace berth {
namespace {

using core::Coordinator;

constexpr Duration kSimulated = hours(4);
constexpr Duration kAnswer = milliseconds(5);
constexpr DeviceId kDevice{0xd0, 1, false};
constexpr Bytes kSession = gib(15);
constexpr double kTurnOfOthers = 30;

class World {
 public:
  World(core::Settings settings, Duration switch_takes)
      : coordinator_(std::move(settings)), move_takes_{switch_takes.ns / 2} {
    tell(core::Recovered{});
    sample(now_.instant);
    for (std::uint64_t n = 1; n <= 2; ++n) {
      Request request{.share = Share::kSlice, .vram = kSession};
      tell(core::Submit{{n}, {{1000}}, {0, n}, process(100 + n), request});
    }
  }

  /// The part of the time in which nobody worked, in percent.
  double lost() {
    const Instant end = now_.instant + kSimulated;
    Duration worked;
    plan(now_.instant + seconds(1), [this] { sample_each_second(); });
    while (true) {
      const auto next = due_.begin();
      CHECK(next != due_.end());
      const Instant at = std::min(next->first, end);
      if (works()) worked = worked + (at - now_.instant);
      now_.wall.value += (at - now_.instant).ns / 1'000'000;
      now_.instant = at;
      if (at == end) break;
      const auto happens = std::move(next->second);
      due_.erase(next);
      happens();
    }
    return 100 * (1 - static_cast<double>(worked.ns) / static_cast<double>(kSimulated.ns));
  }
  std::uint64_t switches() const { return switches_; }

 private:
  static Process process(std::uint64_t n) { return {static_cast<std::int32_t>(n), n}; }

  bool works() const {
    for (const auto& [lease, there] : there_) {
      if (there) return true;
    }
    return false;
  }

  void plan(Instant at, std::function<void()> happens) { due_.emplace(at, std::move(happens)); }

  void tell(const core::Event& event) {
    for (const core::Effect& effect : coordinator_.step(now_, event)) perform(effect);
  }

  void perform(const core::Effect& effect) {
    if (const auto* news = std::get_if<core::Notify>(&effect)) {
      if (news->news == core::LeaseEvent::kGranted) claim(news->lease.value);
    } else if (const auto* reply = std::get_if<core::Reply>(&effect)) {
      const auto* view = std::get_if<Boxed<LeaseView>>(&reply->answer);
      if (view != nullptr && (*view)->flags.unclaimed) claim((*view)->id.value);
    } else if (const auto* ask = std::get_if<core::AskProbe>(&effect)) {
      const Instant at = std::max(ask->at, now_.instant);
      plan(at, [this] { ask_now(); });
    } else if (const auto* wake = std::get_if<core::WakeAt>(&effect)) {
      plan(wake->at, [this] { tell(core::Woke{}); });
    } else if (const auto* move = std::get_if<core::Transfer>(&effect)) {
      begin(*move);
    }
  }

  void claim(std::uint64_t n) {
    plan(now_.instant, [this, n] {
      tell(core::Claim{{10 + n}, {{1000}}, {0, n}, {process(n)}});
      there_[n] = true;
    });
  }

  void begin(const core::Transfer& move) {
    const bool out = move.direction == Direction::kSwapOut;
    if (out) there_[move.lease.value] = false;
    switches_ += out ? 1U : 0U;
    plan(now_.instant + move_takes_, [this, move, out] {
      if (!out) there_[move.lease.value] = true;
      tell(core::TransferDone{move.lease, move.number, {}});
    });
  }

  void sample_each_second() {
    ask_now();
    plan(now_.instant + seconds(1), [this] { sample_each_second(); });
  }
  void ask_now() {
    plan(now_.instant + kAnswer, [this, asked_at = now_.instant] { sample(asked_at); });
  }
  void sample(Instant asked_at) {
    DeviceSample device{.id = kDevice, .index = 0, .model = "simulated", .capacity = gib(16)};
    device.figures.driver_reserved = Bytes{};
    device.processes.emplace();
    Bytes used;
    for (const auto& [lease, there] : there_) {
      if (!there) continue;
      device.processes->push_back({.process = process(lease), .used = kSession, .user = {1000}});
      used += kSession;
    }
    device.used = used;
    tell(core::Sampled{{asked_at, now_.instant, true, "", "", {device}}});
  }

  Coordinator coordinator_;
  Duration move_takes_;
  core::Now now_{{1'000'000'000'000}, {1'700'000'000'000}};
  std::multimap<Instant, std::function<void()>> due_;
  std::map<std::uint64_t, bool> there_;
  std::uint64_t switches_ = 0;
};

struct Turns {
  std::string name;
  core::Settings settings;
};

void run() {
  const auto settings = [](Duration least, std::uint32_t loss_percent) {
    core::Settings made{.order = Order::kFifo, .reserve = {}};
    made.turns.least = least;
    made.turns.loss_percent = loss_percent;
    return made;
  };
  const std::array<Turns, 3> kinds = {
      Turns{"as long as their cost asks for", settings(seconds(10), 5)},
      Turns{"of 5 s", settings(seconds(5), 0)},
      Turns{"of 30 s", settings(seconds(30), 0)},
  };
  for (const int percent : {1, 5, 30}) {
    const Duration cost{static_cast<std::int64_t>(kTurnOfOthers * 1e9) * percent / 100};
    for (const Turns& kind : kinds) {
      World world(kind.settings, cost);
      bench::Row row{.name = fmt::format("lost by turns {}, a switch of {} %", kind.name, percent),
                     .value = world.lost(),
                     .unit = "%",
                     .against = ""};
      if (&kind == &kinds.front()) row.limit = 5;
      if (&kind != &kinds.front()) {
        row.against =
            fmt::format("lost by turns {}, a switch of {} %", kinds.front().name, percent);
      }
      CHECK(world.switches() > 10);
      bench::print(row);
    }
  }
}

}  // namespace
}  // namespace berth

int main() {
  berth::run();
}
