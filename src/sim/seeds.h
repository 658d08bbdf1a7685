// SPDX-License-Identifier: Apache-2.0
// Runs worlds, several at a time, and adds up what they found and reached. Each world is alone in
// its thread, so which runs beside which changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/coverage.h"
#include "sim/world.h"

namespace berth::sim {

struct Range {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
  Duration span = {};  // How long each goes on at least; 0: until enough has happened.
};

struct Summary {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t uncounted = 0;  // Seeds in which too little happened.
  std::uint64_t broken_seed = 0;
  std::string broken;  // Of the first seed that broke a rule; empty if none did.
  CoverageOfSeeds coverage;
  Span::Kept kept{};  // By the coordinator in the parts of a span, the most in any seed.
  std::vector<std::uint64_t> journals;  // The hash of each seed's journal, in their order.
};

/// The world of one seed, printed event by event or not.
Outcome run_seed(std::uint64_t seed, bool printed, Duration span = {});
/// Up to the first that breaks a rule. Without a span one in twenty is run twice: both must be
/// alike. `before` is told each seed by the thread that will run it, so that one that ends the
/// process can be named.
Summary run_seeds(Range range, std::size_t threads,
                  const std::function<void(std::uint64_t)>& before = {});

}  // namespace berth::sim
