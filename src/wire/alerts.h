// SPDX-License-Identifier: Apache-2.0
// Alerts as JSON: the event, the list of rules, and what came of a test. Written by the daemon,
// read leniently by clients. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/alert.h"

namespace berth::wire {

/// The event `alert`, and what webhooks and commands are sent.
std::string encode_alert(const Alert& alert);
/// Without the value.
Result<Alert> decode_alert(std::string_view text);

/// What came of one message.
struct Delivered {
  std::string channel;  // "webhook", "command" or "events".
  std::string outcome;  // "delivered", "retry" or "refused".
  std::optional<std::int32_t> status;
  std::string reason;
  UnixMs time;
};

struct RuleStateView {
  Alert::Subject subject;
  std::string text;
  bool firing = false;  // Else it has not been so for long enough.
  UnixMs since;
};

struct RuleView {
  std::string name;
  std::string when;
  bool enabled = true;
  Severity severity = Severity::kWarn;
  Duration repeat;
  std::vector<std::string> channels;
  std::uint64_t undelivered = 0;
  std::optional<Delivered> last_delivery;
  std::vector<RuleStateView> states;
};
/// "firing", "pending", "ok", or "off" where it is not looked at.
std::string_view state_of(const RuleView& rule);

/// GET /v1/alerts
struct AlertList {
  UnixMs time;
  std::vector<RuleView> items;
};
std::string encode_alerts(const AlertList& list);
Result<AlertList> decode_alerts(std::string_view text);

/// POST /v1/alerts/{rule}/test
struct AlertTest {
  std::string rule;
  std::vector<Delivered> outcomes;
};
std::string encode_alert_test(const AlertTest& test);
Result<AlertTest> decode_alert_test(std::string_view text);

}  // namespace berth::wire
