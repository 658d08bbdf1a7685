// SPDX-License-Identifier: Apache-2.0
// A program's decisions about its memory, step by step: when to clean up, when to save, which
// measure is next. Pure: it is handed the time and the figures, and how what it wanted went.
//
// Note [An episode of danger]: from the first figure at critical until memory is below the cleanup
// threshold again. Within one the program saves itself once, and each measure is tried once, in
// order, the next only where memory is critical still: a save or a halved batch at every step would
// do more harm than the lack of memory.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/units.h"
#include "base/words.h"
#include "vram/leak.h"
#include "vram/thresholds.h"

namespace berth::vram {

enum class Action : std::uint8_t { kCleanup, kCheckpoint, kShrink, kOffload, kPause };
constexpr auto words_of(Action) {
  using enum Action;
  return make_words<Action>({{kCleanup, "cleanup"},
                             {kCheckpoint, "checkpoint"},
                             {kShrink, "smaller micro-batch"},
                             {kOffload, "offload"},
                             {kPause, "pause"}});
}
enum class Outcome : std::uint8_t { kDone, kNotDone, kUnconfirmed };
constexpr auto words_of(Outcome) {
  using enum Outcome;
  return make_words<Outcome>(
      {{kDone, "done"}, {kNotDone, "not done"}, {kUnconfirmed, "unconfirmed"}});
}

struct Settings {
  Limits limits;
  std::uint32_t cleanup_every = 0;  // Steps; 0: only above the threshold.
  Duration checkpoint_cool_down = minutes(10);
};

/// What is known at a step. Absent: unknown, or not measured this time.
struct Sample {
  std::optional<Bytes> used;   // What is watched,
  std::optional<Bytes> whole;  // and of how much.
  std::optional<Bytes> own;    // What this program has on the device, for leaks.
  std::optional<Bytes> host;   // What it has in host memory, likewise.
};

struct Event {
  enum class Kind : std::uint8_t {
    kLevel = 1,
    kCleanup,
    kCheckpoint,
    kMeasure,
    kPhase,
    kLeak,
    kHostLeak,
    kLeakOver,
    kNoMore,
  };
  Kind kind = Kind::kLevel;
  std::uint64_t number = 0;
  std::uint64_t step = 0;
  UnixMs time;
  std::optional<Bytes> used;
  std::optional<Bytes> whole;
  std::uint64_t bytes = 0;
  std::uint64_t copies = 0;
  Level level = Level::kUnknown;
  Action action = Action::kCleanup;
  int value = 0;
  std::string name;
  std::string text;
};

struct Phase {
  std::string name;
  std::uint64_t step = 0;
  UnixMs time;
  std::optional<Bytes> used;
  std::optional<Bytes> allocated;
  std::uint64_t copies = 0;
};

struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t cleanups = 0;
  std::uint64_t freed_bytes = 0;
  std::uint64_t checkpoints = 0;
};

struct Now {
  Instant at;
  UnixMs wall;
};

class Manager {
 public:
  static constexpr std::size_t kEventsMax = 256;
  static constexpr std::size_t kPhasesMax = 256;
  static constexpr std::uint64_t kBackOffMax = 256;  // Steps between two cleanups of no use.

  explicit Manager(const Settings& settings) : settings_(settings) {}

  /// A step of the program is over.
  void step(Now now, const Sample& sample);
  /// What is to be done next, if anything is. To be called until it says nothing, each time after
  /// done() of what it said before; that may also come after later steps.
  std::optional<Action> next(Now now);
  /// How that went, and what was measured afterwards.
  void done(Now now, Action action, Outcome outcome, const Sample& after, Bytes freed = {});
  /// Of a cleanup that the program asked for.
  void cleaned(Now now, const Sample& after, Bytes freed);

  void count_copy(Bytes bytes);
  void phase(Now now, const std::string& name, const Sample& sample,
             std::optional<Bytes> allocated);

  Level level() const { return level_; }
  const Counts& counts() const { return counts_; }
  const std::optional<Thresholds>& thresholds() const { return thresholds_; }
  std::optional<Bytes> used() const { return used_; }
  std::optional<Bytes> whole() const { return whole_; }
  const LeakVerdict& leak() const { return leak_.verdict(); }
  const LeakVerdict& host_leak() const { return host_leak_.verdict(); }
  const std::deque<Phase>& phases() const { return phases_; }
  /// "VRAM: 8192 MiB | Copies: 35 | Cleanups: 5"; «unknown» where nothing was measured.
  std::string status_line() const;
  /// The oldest event that was not taken yet.
  std::optional<Event> take_event();

 private:
  void measure(Now now, const Sample& sample);
  void look_for_leaks(Now now, const Sample& sample);
  bool cleanup_is_due() const;
  void note_cleanup(Now now, Bytes freed);
  void wait_longer_after(Bytes freed);
  Event& emit(Now now, Event::Kind kind, std::string text);

  Settings settings_;
  Counts counts_;
  Level level_ = Level::kUnknown;
  std::optional<Thresholds> thresholds_;
  std::optional<Bytes> used_;
  std::optional<Bytes> whole_;
  LeakFinder leak_;
  LeakFinder host_leak_;

  std::uint64_t cleaned_at_ = 0;   // The step of the last cleanup.
  std::uint64_t cleanup_gap_ = 1;  // Steps until one above the threshold is worth another try.

  bool in_episode_ = false;
  bool asked_to_save_ = false;          // In this episode.
  bool may_act_ = false;                // The last measure of it has had its chance to help.
  std::uint8_t next_ = 0;               // The next one of kMeasures.
  std::optional<Instant> saved_until_;  // No further save before.

  std::uint64_t events_told_ = 0;
  std::deque<Event> events_;
  std::deque<Phase> phases_;
};

}  // namespace berth::vram
