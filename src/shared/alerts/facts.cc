// SPDX-License-Identifier: Apache-2.0
#include "alerts/facts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/quantity.h"

namespace berth::alerts {
namespace {

template <class Value>
bool compare(Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::kLess:
      return left < right;
    case Comparison::kAtMost:
      return left <= right;
    case Comparison::kMore:
      return left > right;
    case Comparison::kAtLeast:
      break;
  }
  return left >= right;
}

/// A figure of memory, and how large it is beside all that there is.
struct Size {
  Bytes value;
  std::optional<double> share;
};

double share_of(Bytes part, Bytes whole) {
  return whole == Bytes{} ? 0 : static_cast<double>(part.value) / static_cast<double>(whole.value);
}

std::optional<bool> holds(const Size& size, Comparison comparison, const Threshold& threshold) {
  if (const auto* bytes = std::get_if<Bytes>(&threshold)) {
    return compare(comparison, size.value, *bytes);
  }
  if (!size.share) return std::nullopt;
  const double wanted = static_cast<double>(std::get<Percent>(threshold).value) / 100;
  return compare(comparison, *size.share, wanted);
}

// The other way round: how it stands with the value after `clear`.
std::optional<bool> is_clear(const Expression& expression, std::optional<bool> so,
                             const auto& holds_against) {
  if (!expression.clear) return so ? std::optional(!*so) : std::nullopt;
  // At the value itself it is over, also where the comparison includes it.
  const bool upwards =
      expression.comparison == Comparison::kMore || expression.comparison == Comparison::kAtLeast;
  const auto beyond =
      holds_against(upwards ? Comparison::kMore : Comparison::kLess, *expression.clear);
  return beyond ? std::optional(!*beyond) : std::nullopt;
}

Finding judged(const Size& size, const Expression& expression, std::string text) {
  CHECK(expression.threshold.has_value());
  Finding finding{.text = std::move(text)};
  const auto against = [&](Comparison comparison, const Threshold& threshold) {
    return holds(size, comparison, threshold);
  };
  finding.so = against(expression.comparison, *expression.threshold);
  finding.clear = is_clear(expression, finding.so, against);
  if (std::holds_alternative<Percent>(*expression.threshold) && size.share) {
    finding.unit = Alert::Unit::kShare;
    finding.value = static_cast<std::uint64_t>(std::llround(*size.share * 1'000));
  } else {
    finding.unit = Alert::Unit::kBytes;
    finding.value = size.value.value;
  }
  return finding;
}

Finding flag(bool is_set, std::string text) {
  return {.so = is_set, .clear = !is_set, .text = std::move(text)};
}

Finding unknown(std::string text) {
  return {.so = std::nullopt, .clear = std::nullopt, .text = std::move(text)};
}

std::string throttle_text(Throttle by) {
  switch (by) {
    case Throttle::kNone:
      return " is not held down";
    case Throttle::kPower:
      return " is held down by its power limit";
    case Throttle::kThermal:
      return " is held down by its heat";
    case Throttle::kHardware:
      return " is held down by its board, which is too hot or short of power";
  }
  std::unreachable();
}

// Of a level or figure that is compared with one of its own kind.
template <class Value>
Finding judged_as(Value value, const Expression& expression, std::string text) {
  CHECK(expression.threshold.has_value());
  Finding finding{.text = std::move(text)};
  const auto against = [&](Comparison comparison, const Threshold& threshold) {
    return std::optional(compare(comparison, value, std::get<Value>(threshold)));
  };
  finding.so = against(expression.comparison, *expression.threshold);
  finding.clear = is_clear(expression, finding.so, against);
  return finding;
}

Finding judged(Percent share, const Expression& expression, std::string text) {
  Finding finding = judged_as(share, expression, std::move(text));
  finding.unit = Alert::Unit::kShare;
  finding.value = share.value * 10;
  return finding;
}

Finding judged(Celsius degrees, const Expression& expression, std::string text) {
  Finding finding = judged_as(degrees, expression, std::move(text));
  finding.unit = Alert::Unit::kCelsius;
  finding.value = degrees.value;
  return finding;
}

constexpr std::uint32_t kMilliwattsInAWatt = 1'000;

// Against watts, or against a share of the limit, if that is known.
Finding judged_power(const DeviceFigures& figures, const Expression& expression, std::string text) {
  CHECK(expression.threshold.has_value());
  const std::uint32_t drawn = figures.power_milliwatts.value_or(0);
  const std::uint32_t limit = figures.power_limit_milliwatts.value_or(0);
  if (std::holds_alternative<Percent>(*expression.threshold)) {
    if (limit == 0) return unknown(std::move(text));
    const std::uint64_t percent = std::uint64_t{drawn} * 100 / limit;
    return judged(Percent{static_cast<std::uint32_t>(percent)}, expression, std::move(text));
  }
  const Watts watts{drawn / kMilliwattsInAWatt};
  Finding finding = judged_as(watts, expression, std::move(text));
  finding.unit = Alert::Unit::kWatts;
  finding.value = watts.value;
  return finding;
}

std::string watts_text(std::uint32_t milliwatts) {
  return std::to_string(milliwatts / kMilliwattsInAWatt) + " W";
}

Finding find_in(const DeviceFigures& figures, const std::string& name,
                const Expression& expression) {
  switch (expression.source) {
    case Source::kGpuUtilization:
      if (!figures.gpu_utilization) return unknown(name);
      return judged(
          Percent{*figures.gpu_utilization}, expression,
          name + " is busy " + std::to_string(*figures.gpu_utilization) + " % of the time");
    case Source::kGpuTemperature:
      if (!figures.temperature) return unknown(name);
      return judged(Celsius{*figures.temperature}, expression,
                    name + " is at " + std::to_string(*figures.temperature) + " °C");
    case Source::kGpuPower: {
      if (!figures.power_milliwatts) return unknown(name);
      std::string text = name + " draws " + watts_text(*figures.power_milliwatts);
      if (figures.power_limit_milliwatts) {
        text += " of " + watts_text(*figures.power_limit_milliwatts);
      }
      return judged_power(figures, expression, std::move(text));
    }
    case Source::kGpuThrottled:
      if (!figures.throttle) return unknown(name);
      return flag(*figures.throttle != Throttle::kNone, name + throttle_text(*figures.throttle));
    case Source::kGpuEccErrors: {
      if (!figures.ecc_uncorrected) return unknown(name);
      const std::string count = std::to_string(*figures.ecc_uncorrected);
      return flag(*figures.ecc_uncorrected > 0,
                  name + " has had " + count + " errors of memory that could not be mended");
    }
    default:
      break;
  }
  CHECK(false);
}

std::string percent_text(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

std::string of_whole(Bytes part, Bytes whole) {
  return to_text(part) + " of " + to_text(whole) + " (" + percent_text(share_of(part, whole)) + ")";
}

/// Memory of a lease on all its devices. The share is that on the device where it is largest.
struct Use {
  Bytes used;
  Bytes granted;
  double share = 0;
};

std::optional<Use> use_of(const LeaseView& lease) {
  Use use;
  for (const LeasePart& part : lease.parts) {
    if (!part.used && !part.ledger) return std::nullopt;
    const Bytes used = std::max(part.used.value_or(Bytes{}), part.ledger.value_or(Bytes{}));
    use.used += used;
    use.granted += part.granted;
    use.share = std::max(use.share, share_of(used, part.granted));
  }
  return use;
}

// On the device where it computes most.
std::optional<std::uint32_t> utilization_of(const LeaseView& lease) {
  std::optional<std::uint32_t> most;
  for (const LeasePart& part : lease.parts) {
    if (!part.gpu_utilization) return std::nullopt;
    most = std::max(most.value_or(0), *part.gpu_utilization);
  }
  return most;
}

std::string use_text(const LeaseView& lease) {
  const auto use = use_of(lease);
  if (!use) return name_of(lease);
  return name_of(lease) + " uses " + to_text(use->used) + " of " + to_text(use->granted);
}

}  // namespace

std::string name_of(const DeviceView& device) {
  const std::string name = "GPU " + std::to_string(device.index);
  return device.model.empty() ? name : name + " (" + device.model + ")";
}

std::string name_of(const LeaseView& lease) {
  const std::string number = "lease " + to_text(lease.id);
  return lease.request.name.empty() ? number : number + " (" + lease.request.name + ")";
}

Finding find_in(const DeviceView& device, const Expression& expression) {
  const std::string name = name_of(device);
  const auto size = [&](std::optional<Bytes> value, const auto& text) {
    if (!value || !device.capacity) return unknown(name);
    return judged(Size{*value, share_of(*value, *device.capacity)}, expression,
                  text(of_whole(*value, *device.capacity)));
  };
  switch (expression.source) {
    case Source::kGpuMemUsed:
      return size(device.used, [&](const std::string& of) { return name + " uses " + of; });
    case Source::kGpuUnmanaged:
      return size(device.unmanaged, [&](const std::string& of) {
        return "programs without a lease use " + of + " of " + name;
      });
    case Source::kGpuGrantable:
      if (!device.used) return unknown(name);
      return size(device.grantable,
                  [&](const std::string& of) { return name + " can grant " + of; });
    case Source::kGpuPressure: {
      const bool critical = device.pressure == Pressure::kCritical;
      const std::string may = critical ? "leases lack memory" : "leases may lack memory";
      const bool calm = device.pressure == Pressure::kNormal;
      return judged_as(device.pressure, expression,
                       name + ": " + (calm ? "leases can have their memory" : may));
    }
    case Source::kGpuLost:
      return flag(device.lost, name + (device.lost ? " is lost" : " is there"));
    default:
      return find_in(device.figures, name, expression);
  }
}

Finding find_in(const LeaseView& lease, const Expression& expression) {
  const bool held = lease.state == LeaseState::kHeld;
  switch (expression.source) {
    case Source::kLeaseMemUsed: {
      if (!held) return flag(false, name_of(lease) + " is " + std::string(to_text(lease.state)));
      const auto use = use_of(lease);
      if (!use) return unknown(use_text(lease));
      return judged(Size{use->used, use->share}, expression, use_text(lease));
    }
    case Source::kLeasePressure:
      return judged_as(held ? lease.pressure : Pressure::kNormal, expression, use_text(lease));
    case Source::kLeaseWaiting: {
      if (lease.state != LeaseState::kWaiting)
        return flag(false, name_of(lease) + " waits no more");
      CHECK(expression.threshold.has_value());
      const auto longest = std::get<Duration>(*expression.threshold);
      Finding finding = flag(compare(expression.comparison, lease.waited, longest),
                             name_of(lease) + " has waited for " + to_text(lease.waited));
      finding.unit = Alert::Unit::kMilliseconds;
      finding.value = static_cast<std::uint64_t>(lease.waited.ns / milliseconds(1).ns);
      return finding;
    }
    case Source::kLeaseUtilization: {
      if (!held) return flag(false, name_of(lease) + " is " + std::string(to_text(lease.state)));
      const auto busy = utilization_of(lease);
      if (!busy) return unknown(name_of(lease));
      return judged(Percent{*busy}, expression,
                    name_of(lease) + " computes " + std::to_string(*busy) + " % of the time");
    }
    case Source::kLeaseOverBudget:
      return flag(lease.flags.over_budget, use_text(lease));
    case Source::kLeaseFrozen:
      // Stopped processes keep their memory.
      return flag(lease.flags.frozen, lease.flags.frozen ? use_text(lease) + ", and is stopped"
                                                         : name_of(lease) + " runs again");
    default:
      break;
  }
  CHECK(false);
}

bool concerns(const Expression& expression, const LeaseView& lease) {
  const std::string& wanted = expression.name;
  const std::string& name = lease.request.name;
  if (wanted.ends_with('*')) {
    if (!name.starts_with(std::string_view(wanted).substr(0, wanted.size() - 1))) return false;
  } else if (!wanted.empty() && wanted != name) {
    return false;
  }
  if (expression.result && lease.result != expression.result) return false;
  if (!expression.outcome) return true;
  return lease.checkpoints.last && lease.checkpoints.last->outcome == *expression.outcome;
}

std::string describe(Source event, const LeaseView& lease, const std::string& reason) {
  const std::string name = name_of(lease);
  switch (event) {
    case Source::kLeaseQueued:
      return name + " waits for memory";
    case Source::kLeaseGranted: {
      Bytes granted;
      for (const LeasePart& part : lease.parts) granted += part.granted;
      return name + " was granted " + to_text(granted) + " after " + to_text(lease.waited);
    }
    case Source::kLeaseCheckpoint:
      return name + " is asked to save itself";
    case Source::kLeaseCheckpointed: {
      const auto& last = lease.checkpoints.last;
      if (!last) return name + " is over with its save";
      if (last->outcome == CheckpointOutcome::kSaved) return name + " has saved itself";
      return name + " has not saved itself: " + std::string(to_text(last->outcome));
    }
    case Source::kLeaseSuspended:
      return name + " is suspended";
    case Source::kLeaseResumed:
      return name + " runs again";
    case Source::kLeaseRefused:
      return name + " was refused " + reason;
    case Source::kLeaseMessage:
      return name + " has a message: " +
             (lease.messages.empty() ? std::string() : lease.messages.back().text);
    case Source::kLeaseEnded:
      return name + " has ended" +
             (lease.result ? ": " + std::string(to_text(*lease.result)) : std::string());
    default:
      break;
  }
  CHECK(false);
}

std::vector<Alert::Action> actions_for(const LeaseView& lease) {
  const std::string& name = lease.request.name;
  const std::string shown = name.empty() ? to_text(lease.id) : name;
  std::vector<Alert::Action> actions;
  if (lease.state == LeaseState::kHeld) {
    actions.push_back({Alert::Action::Verb::kPause, lease.id, "Pause " + shown});
    if (lease.request.checkpoint) {
      actions.push_back({Alert::Action::Verb::kCheckpoint, lease.id, "Save " + shown});
    }
  }
  actions.push_back({Alert::Action::Verb::kShow, lease.id, "Show " + shown});
  return actions;
}

}  // namespace berth::alerts
