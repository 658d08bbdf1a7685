// SPDX-License-Identifier: Apache-2.0
// The daemon's side of alerts: hands what is seen and what happens to the rules, and what they say
// to those who are to hear it. It decides nothing about leases. The event loop's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alerts/alarms.h"
#include "alerts/deliveries.h"
#include "config/config.h"
#include "core/coordinator.h"
#include "core/effect.h"
#include "model/alert.h"
#include "model/audit_entry.h"
#include "wire/alerts.h"
#include "wire/delivery.h"

namespace berth::server {

class AlertService {
 public:
  using Rules = std::map<std::string, config::AlertRule>;
  /// To be kept for a daemon after this one.
  struct Changes {
    alerts::Deliveries::Changes messages;
    std::optional<std::vector<FiringAlert>> firing;
    bool empty() const { return messages.empty() && !firing; }
  };
  struct Ports {
    /// To the streams of all news; to_its_lease: to those of its lease as well.
    std::function<void(const Alert& alert, bool to_its_lease)> publish;
    std::function<std::size_t()> listeners;  // To all news.
    std::function<void(const std::string&)> log;
    /// Tries a message once.
    using Then = std::function<void(const wire::DeliveryOutcome&)>;
    std::function<void(const wire::Delivery&, Then)> deliver;
    /// On the disk; false: not now.
    std::function<bool(Changes)> keep;
    std::function<core::Now()> now;
  };

  AlertService(const Rules& rules, Ports ports) : ports_(std::move(ports)) { configure(rules); }
  AlertService(const AlertService&) = delete;
  AlertService& operator=(const AlertService&) = delete;

  void configure(const Rules& rules);

  /// After the coordinator has taken a sample in.
  void looked(core::Now now, const core::Coordinator& coordinator);
  /// In the midst of a step: what follows from it is told by flush().
  void on_lease_event(core::Now now, const core::Coordinator& coordinator,
                      const core::Notify& news);
  void on_audit(core::Now now, const core::Coordinator& coordinator, const AuditEntry& entry);
  /// What a daemon before this one has left. Once; nothing is found or sent before.
  void restore(KeptAlerts kept);
  /// At the end of each turn of the event loop, and at next().
  void flush();
  Instant next() const;

  /// Sends one message of the rule through each of its channels, at once; then tells what came of
  /// each. False: there is no such rule.
  using Tested = std::function<void(const wire::AlertTest&)>;
  bool test(const std::string& rule, Tested then);

  const Rules& rules() const { return rules_; }
  wire::AlertList list(core::Now now) const;

 private:
  struct Testing;

  void happened(core::Now now, const core::Coordinator& coordinator, LeaseId lease,
                std::optional<alerts::Source> event, const std::string& reason);
  void queue(const Alert& alert, const config::AlertRule& rule, std::optional<UserId> about);
  void send_due();
  void finished(const AlertDelivery& delivery, const wire::DeliveryOutcome& outcome);
  std::optional<wire::Delivered> last_of(const std::string& rule) const;
  std::optional<wire::Delivery> addressed(const AlertDelivery& delivery) const;

  Rules rules_;
  Ports ports_;
  alerts::Alarms alarms_;
  struct Outgoing {
    Alert alert;
    std::optional<UserId> about;  // Whose lease.
  };
  std::vector<Outgoing> outgoing_;
  alerts::Deliveries deliveries_;
  Changes unkept_;  // That the disk did not take yet.
  bool restored_ = false;
  std::map<std::string, wire::Delivered> last_;  // By rule.
  bool stirred_ = true;                          // One may be due that was not.
  Instant due_ = Instant::never();               // Then one is.
};

}  // namespace berth::server
