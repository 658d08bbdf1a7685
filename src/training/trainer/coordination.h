// SPDX-License-Identifier: Apache-2.0
// Messages between a run and the coordinator that shares the machine out. Called between steps, by
// the thread that makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace berth::trainer {

struct Ask {
  enum class Kind : std::uint8_t {
    kSave,
    kSaveAndEnd,  // The lease is wanted back.
    kMakeRoom,    // Memory is short; nobody waits for an answer.
  };
  Kind kind = Kind::kSave;
  std::uint64_t number = 0;  // The answer's.
};

/// How far a run is.
struct HowFar {
  std::uint64_t done = 0;   // Steps.
  std::uint64_t total = 0;  // Of so many.
  Duration left;            // By how long they took so far.
  std::string note;         // For people.
  double loss = 0;          // Of the last step.
  std::string phase;        // In a word.
};

class Coordination {
 public:
  Coordination() = default;
  Coordination(const Coordination&) = delete;
  Coordination& operator=(const Coordination&) = delete;
  virtual ~Coordination() = default;

  /// Waits for nobody.
  virtual std::optional<Ask> next_ask() = 0;
  /// How it went: the path of the checkpoint, or why there is none.
  virtual void answer(const Ask& ask, const Result<std::string>& saved) = 0;
  virtual void broadcast(const HowFar& how_far) = 0;
};

}  // namespace berth::trainer
