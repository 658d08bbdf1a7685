// SPDX-License-Identifier: Apache-2.0
// The daemon's side of alerts: hands what is seen and what happens to the rules, and what they say
// to whoever is to hear it. It decides nothing about leases. The event loop's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "alerts/alarms.h"
#include "config/config.h"
#include "core/coordinator.h"
#include "core/effect.h"
#include "model/alert.h"
#include "wire/alerts.h"

namespace berth::server {

class AlertDesk {
 public:
  using Rules = std::map<std::string, config::AlertRule>;
  struct Doors {
    /// To the streams of all news; to_its_lease: to those of its lease as well.
    std::function<void(const Alert& alert, bool to_its_lease)> publish;
    std::function<void(const std::string&)> log;
  };

  AlertDesk(const Rules& rules, Doors doors) : doors_(std::move(doors)) { configure(rules); }
  void configure(const Rules& rules);

  /// After the coordinator has taken a sample in.
  void looked(core::Now now, const core::Coordinator& coordinator);
  /// In the midst of a step: what follows from it is told by flush().
  void happened(core::Now now, const core::Coordinator& coordinator, const core::Notify& news);
  /// At the end of each turn of the event loop.
  void flush();

  const Rules& rules() const { return rules_; }
  wire::AlertList list(core::Now now) const;

 private:
  Rules rules_;
  Doors doors_;
  alerts::Alarms alarms_;
  std::vector<Alert> outgoing_;
};

}  // namespace berth::server
