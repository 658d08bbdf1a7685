// SPDX-License-Identifier: Apache-2.0
// The state of the rules, and which of them report something now. step() gets all that it may look
// at and returns what is to be reported. Pure: no clock, no file, no effect.
//
// Note [When an alert is over]: a figure that swings about its threshold would be reported and
// taken back again and again. So what has fired is over only when it has not been so for kCalmFor,
// and not beyond the value after `clear`, where the rule has one. What is unknown changes nothing:
// neither does it begin, nor is it over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alerts/expression.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/alert.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::alerts {

struct Rule {
  std::string name;
  Expression when;
  Duration repeat;  // While it goes on it is told again each so often; 0: not again.
  Severity severity = Severity::kWarn;
  friend bool operator==(const Rule&, const Rule&) = default;
};

struct Moment {
  Instant instant;
  UnixMs wall;
};

/// All that rules look at. The leases are all live ones if look_at_leases(), else those that have
/// something of the devices.
struct Facts {
  std::vector<DeviceView> devices;
  std::vector<LeaseView> leases;
};

/// What a rule is told of: one device or one lease.
struct RuleSubject {
  DeviceId device;
  LeaseId lease;
  friend constexpr auto operator<=>(const RuleSubject&, const RuleSubject&) = default;
};

/// How one rule stands with one subject: it is so, and perhaps for long enough.
struct RuleState {
  std::string rule;
  RuleSubject about;
  std::string name;  // Of the subject.
  std::string text;
  bool firing = false;
  UnixMs since;
};

class Alarms {
 public:
  static constexpr Duration kCalmFor = seconds(10);
  static constexpr std::size_t kStatesMax = 10'000;

  /// What stands of a rule that is gone or reads differently is forgotten.
  void configure(std::vector<Rule> rules);
  /// Whether a rule looks at how leases stand.
  bool look_at_leases() const;

  std::vector<Alert> step(Moment now, const Facts& facts);
  /// Whether a rule is about that event.
  bool hears(Source event) const;
  /// It has happened to a lease.
  std::vector<Alert> on_lease_event(Moment now, Source event, const LeaseView& lease,
                                    const std::string& reason = {}) const;

  /// By rule, then subject.
  std::vector<RuleState> states() const;

  /// What fired when another daemon ended: not told again, and over when it is. Of a rule that is
  /// gone or reads differently it is forgotten.
  void restore(const std::vector<FiringAlert>& kept, Moment now);
  /// All that fires, if that or when it was told has changed since the last call.
  std::optional<std::vector<FiringAlert>> take_firing(Moment now);

 private:
  struct State {
    std::string name;
    std::string text;
    bool firing = false;
    Instant from;  // Since when it has been so.
    UnixMs since;  // The same.
    Instant notified;
    std::optional<Instant> calm;  // Since when it has not been so, if it fires.
  };
  using Key = std::pair<std::string, RuleSubject>;
  struct Look;

  void judge(Moment now, const Rule& rule, const Look& look, const Facts& facts,
             std::vector<Alert>& alerts);
  void drop_gone(Moment now, const Facts& facts, std::vector<Alert>& alerts);

  std::vector<Rule> rules_;
  std::map<Key, State> states_;
  bool firing_changed_ = false;
};

}  // namespace berth::alerts
