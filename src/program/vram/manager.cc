// SPDX-License-Identifier: Apache-2.0
#include "vram/manager.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/quantity.h"

namespace berth::vram {
namespace {

constexpr std::array kMeasures = {Action::kCleanup, Action::kShrink, Action::kOffload,
                                  Action::kPause};
constexpr Bytes kWorthIt = mib(1);  // A cleanup that frees less has freed nothing.

std::string of(std::optional<Bytes> used, std::optional<Bytes> whole) {
  if (!used) return "an unknown amount";
  return to_text(*used) + (whole ? " of " + to_text(*whole) : "");
}

}  // namespace

void Manager::step(Now now, const Sample& sample) {
  ++counts_.steps;
  may_act_ = sample.used.has_value();
  measure(now, sample);
  look_for_leaks(now, sample);
}

std::optional<Action> Manager::next(Now now) {
  if (in_episode_ && level_ == Level::kCritical) {
    if (!may_act_) return std::nullopt;
    if (!asked_to_save_) {
      asked_to_save_ = true;
      if (!saved_until_ || now.at >= *saved_until_) return Action::kCheckpoint;
    }
    if (next_ < kMeasures.size()) return kMeasures.at(next_++);
    if (next_ == kMeasures.size()) {
      ++next_;
      emit(now, Event::Kind::kNoMore,
           of(used_, whole_) + " in use, and all that could be done was done");
    }
  }
  return cleanup_is_due() ? std::optional(Action::kCleanup) : std::nullopt;
}

void Manager::done(Now now, Action action, Outcome outcome, const Sample& after, Bytes freed) {
  measure(now, after);
  if (action == Action::kCleanup && outcome != Outcome::kNotDone) {
    note_cleanup(now, freed);
    may_act_ = after.used.has_value();
    return;
  }
  const bool is_save = action == Action::kCheckpoint;
  std::string text = is_save ? "emergency " : "";
  text.append(to_text(action)).append(": ").append(to_text(outcome));
  Event& event =
      emit(now, is_save ? Event::Kind::kCheckpoint : Event::Kind::kMeasure, std::move(text));
  event.action = action;
  event.value = static_cast<int>(outcome);
  if (is_save && outcome == Outcome::kDone) {
    ++counts_.checkpoints;
    saved_until_ = now.at + settings_.checkpoint_cool_down;
  }
  if (action == Action::kCleanup) wait_longer_after({});
  // What helps only from the next step on is not followed by something harder at once.
  may_act_ = is_save || outcome == Outcome::kNotDone;
}

void Manager::cleaned(Now now, const Sample& after, Bytes freed) {
  measure(now, after);
  note_cleanup(now, freed);
}

void Manager::count_copy(Bytes bytes) {
  ++counts_.copies;
  counts_.copied_bytes += bytes.value;
}

void Manager::phase(Now now, const std::string& name, const Sample& sample,
                    std::optional<Bytes> allocated) {
  measure(now, sample);
  if (phases_.size() == kPhasesMax) phases_.pop_front();
  phases_.push_back({.name = name,
                     .step = counts_.steps,
                     .time = now.wall,
                     .used = sample.used,
                     .allocated = allocated,
                     .copies = counts_.copies});
  Event& event = emit(now, Event::Kind::kPhase,
                      "phase " + name + ": " + of(sample.used, whole_) + " in use, " +
                          std::to_string(counts_.copies) + " copies");
  event.name = name;
}

std::string Manager::status_line() const {
  const std::string used = used_ ? std::to_string(used_->value >> 20U) + " MiB" : "unknown";
  return "VRAM: " + used + " | Copies: " + std::to_string(counts_.copies) +
         " | Cleanups: " + std::to_string(counts_.cleanups);
}

std::optional<Event> Manager::take_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void Manager::measure(Now now, const Sample& sample) {
  if (!sample.used) return;
  used_ = sample.used;
  whole_ = sample.whole;
  thresholds_ = thresholds_of(settings_.limits, sample.whole);
  const Level before = level_;
  level_ = thresholds_ ? level_of(*thresholds_, *used_, before) : Level::kUnknown;
  if (level_ == before) return;
  if (level_ == Level::kCritical && !in_episode_) {
    in_episode_ = true;
    asked_to_save_ = false;
    next_ = 0;
  }
  if (level_ < Level::kCleanup) in_episode_ = false;
  // That there is nothing to say is no news.
  const bool quiet = before == Level::kUnknown && level_ == Level::kNormal;
  if (quiet) return;
  Event& event = emit(now, Event::Kind::kLevel,
                      std::string(to_text(level_)) + ": " + of(used_, whole_) + " in use");
  event.value = static_cast<int>(before);
}

void Manager::look_for_leaks(Now now, const Sample& sample) {
  struct Side {
    LeakFinder& finder;
    std::optional<Bytes> used;
    Event::Kind kind;
    const char* name;
  };
  for (const Side& side : {Side{leak_, sample.own, Event::Kind::kLeak, "device"},
                           Side{host_leak_, sample.host, Event::Kind::kHostLeak, "host"}}) {
    if (!side.used || !side.finder.add(counts_.steps, *side.used)) continue;
    const LeakVerdict& verdict = side.finder.verdict();
    if (!verdict.leaks) {
      Event& event = emit(now, Event::Kind::kLeakOver,
                          std::string(side.name) + " memory does not grow any more");
      event.value = side.kind == Event::Kind::kHostLeak ? 1 : 0;
      continue;
    }
    const Bytes growth = {static_cast<std::uint64_t>(verdict.growth_per_step)};
    Event& event = emit(now, side.kind,
                        std::string(side.name) + " memory leaks: it grows by " + to_text(growth) +
                            " a step and is at " + to_text(*side.used));
    event.bytes = growth.value;
  }
}

bool Manager::cleanup_is_due() const {
  const std::uint64_t since = counts_.steps - cleaned_at_;
  const std::uint64_t every = settings_.cleanup_every;
  // One that freed nothing makes the next one wait, by steps or by the threshold alike.
  if (every > 0 && since >= std::max<std::uint64_t>(every, cleanup_gap_)) return true;
  return level_ >= Level::kCleanup && since >= cleanup_gap_;
}

void Manager::note_cleanup(Now now, Bytes freed) {
  ++counts_.cleanups;
  counts_.freed_bytes += freed.value;
  wait_longer_after(freed);
  const bool worth_it = freed >= kWorthIt;
  Event& event = emit(now, Event::Kind::kCleanup,
                      worth_it ? "cleanup: " + to_text(freed) + " freed"
                               : std::string("cleanup: nothing was freed"));
  event.bytes = freed.value;
}

void Manager::wait_longer_after(Bytes freed) {
  cleaned_at_ = counts_.steps;
  cleanup_gap_ = freed >= kWorthIt ? 1 : std::min(kBackOffMax, cleanup_gap_ * 2);
}

Event& Manager::emit(Now now, Event::Kind kind, std::string text) {
  if (events_.size() == kEventsMax) events_.pop_front();
  events_.push_back({.kind = kind,
                     .number = ++events_told_,
                     .step = counts_.steps,
                     .time = now.wall,
                     .used = used_,
                     .whole = whole_,
                     .copies = counts_.copies,
                     .level = level_,
                     .text = std::move(text)});
  return events_.back();
}

}  // namespace berth::vram
