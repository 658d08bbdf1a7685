// SPDX-License-Identifier: Apache-2.0
// What a session and its programs find around them.
#pragma once

#include "sim/devices.h"
#include "sim/judge.h"
#include "sim/network.h"
#include "sim/plan.h"
#include "sim/processes.h"
#include "sim/stage.h"

namespace berth::sim {

struct Scene {
  Stage& stage;
  const Plan& plan;
  Processes& processes;
  Devices& devices;
  Network& network;
  Judge& judge;
  bool hurry = false;  // Everybody comes to an end, and nobody does harm any more.
};

}  // namespace berth::sim
