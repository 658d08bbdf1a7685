// SPDX-License-Identifier: Apache-2.0
#include "sim/client.h"

#include <utility>

namespace berth::sim {

bool Client::meets(Fault fault) const {
  if (env.finishing || !env.context.random.chance(env.plan.rate(fault))) return false;
  env.context.record_fault(fault);
  return true;
}

void Client::once(Duration delay, Phase at, std::function<void()> action) const {
  env.context.clock.after(delay, [this, at, action = std::move(action)] {
    if (is(at)) action();
  });
}

void Client::again(std::optional<Duration> delay, Phase at, std::function<void()> action) const {
  if (!delay || env.finishing) return;
  once(*delay, at, [this, delay, at, action = std::move(action)] {
    action();
    again(delay, at, action);
  });
}

}  // namespace berth::sim
