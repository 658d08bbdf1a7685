// SPDX-License-Identifier: Apache-2.0
#include "sim/probe.h"

#include <cstddef>
#include <utility>

namespace berth::sim {
namespace {

constexpr Duration kDeadline = seconds(2);

}  // namespace

void Probe::ask(Answered answered) {
  const auto meets = [&](Fault fault) {
    const bool met = !calm_ && context_.random.chance(plan_.rate(fault));
    if (met) context_.record_fault(fault);
    return met;
  };
  if (meets(Fault::kProbeFails)) {
    context_.clock.after(kDeadline, [answered = std::move(answered)] { answered(std::nullopt); });
    return;
  }
  Duration takes = context_.random.spread({50'000}, milliseconds(5));
  if (meets(Fault::kProbeSlow)) takes = context_.random.spread(milliseconds(5), seconds(2));
  const Duration looks_after = context_.random.between(Duration{}, takes);
  const Instant asked_at = context_.clock.instant();
  context_.clock.after(
      looks_after, [this, asked_at, requester = daemon_, rest = Duration{takes.ns - looks_after.ns},
                    answered = std::move(answered)] {
        Sample sample = devices_.look();
        sample.asked_at = asked_at;
        if (driver_gone_) {
          sample.devices.clear();
          sample.trouble = "the driver is gone";
        } else {
          lie(sample);
          has_told_ |= requester == daemon_;  // What one asked who is dead is told to nobody.
        }
        context_.clock.after(rest, [this, sample = std::move(sample), answered] {
          Sample reported = sample;
          reported.answered_at = context_.clock.instant();
          answered(std::move(reported));
        });
      });
}

// One figure is missing, never two that stand for one another: what neither the list of processes
// nor the total shows could be seen by nobody.
void Probe::lie(Sample& sample) {
  if (calm_ || !context_.random.chance(plan_.rate(Fault::kDriverLies))) return;
  DeviceSample& device = sample.devices[context_.random.below(sample.devices.size())];
  if (!device.processes || device.processes->empty()) return;
  context_.record_fault(Fault::kDriverLies);
  const auto which = static_cast<std::ptrdiff_t>(context_.random.below(device.processes->size()));
  const auto process = device.processes->begin() + which;
  switch (context_.random.below(5)) {
    case 0:
      device.processes->erase(process);
      break;
    case 1:
      process->used.reset();
      break;
    case 2:
      device.used.reset();
      break;
    case 3:
      // A driver that never lists them is another matter: then there is nothing to go by.
      if (has_told_) device.processes.reset();
      break;
    default:
      // Where unmanaged processes are ignored, it is the environment that tells them from what is
      // left behind.
      if (plan_.settings.unmanaged != Unmanaged::kIgnore) process->env_lease.reset();
      break;
  }
}

void Probe::calm() {
  calm_ = true;
  driver_gone_ = false;
}

}  // namespace berth::sim
