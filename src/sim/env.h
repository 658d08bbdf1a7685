// SPDX-License-Identifier: Apache-2.0
// The parts of a simulated world that a session and its programs use.
#pragma once

#include "sim/context.h"
#include "sim/devices.h"
#include "sim/invariant_checker.h"
#include "sim/network.h"
#include "sim/plan.h"
#include "sim/processes.h"

namespace berth::sim {

struct SimEnv {
  SimContext& context;
  const Plan& plan;
  Processes& processes;
  Devices& devices;
  Network& network;
  InvariantChecker& checker;
  bool finishing = false;  // Everybody comes to an end, and nobody does harm any more.
};

}  // namespace berth::sim
