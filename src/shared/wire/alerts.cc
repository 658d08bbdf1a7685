// SPDX-License-Identifier: Apache-2.0
#include "wire/alerts.h"

#include <algorithm>

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace berth::wire {

std::string encode_alert(const Alert& alert) {
  return answer_text(alert);
}

Result<Alert> decode_alert(std::string_view text) {
  return read_answer<Alert>(text);
}

Standing state_of(const RuleView& rule) {
  if (!rule.enabled) return Standing::kOff;
  if (rule.states.empty()) return Standing::kOk;
  const bool fires = std::ranges::any_of(rule.states, &RuleStateView::firing);
  return fires ? Standing::kFiring : Standing::kPending;
}

std::optional<UnixMs> since_of(const RuleView& rule) {
  const auto oldest = std::ranges::min_element(rule.states, {}, &RuleStateView::since);
  return oldest == rule.states.end() ? std::nullopt : std::optional(oldest->since);
}

std::string encode_alerts(const AlertList& list) {
  return answer_text(list);
}

Result<AlertList> decode_alerts(std::string_view text) {
  return read_answer<AlertList>(text);
}

std::string encode_alert_test(const AlertTest& test) {
  return answer_text(test);
}

Result<AlertTest> decode_alert_test(std::string_view text) {
  return read_answer<AlertTest>(text);
}

}  // namespace berth::wire
