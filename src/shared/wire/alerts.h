// SPDX-License-Identifier: Apache-2.0
// Alerts as JSON: the event, the list of rules, and what came of a test. Written by the daemon,
// read leniently by clients. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "model/alert.h"

namespace berth::wire {

/// The event `alert`, and what webhooks and commands are sent.
std::string encode_alert(const Alert& alert);
/// Without the value.
Result<Alert> decode_alert(std::string_view text);

/// What came of one message.
struct Delivered {
  std::string channel;
  std::string outcome;
  std::optional<std::int32_t> status;
  std::string reason;
  UnixMs time;
};
constexpr auto fields_of(Is<Delivered> auto*) {
  return fields(
      {"AlertDelivered", "What came of one message."},
      field("channel", &Delivered::channel, "events, webhook or command.").written(side::kAnswer),
      field("outcome", &Delivered::outcome,
            "retry: nobody took it, and it is tried again. nobody: of a test, that nobody listens "
            "to events.")
          .one_of("delivered retry refused nobody")
          .written(side::kAnswer),
      field("status", &Delivered::status, "Of HTTP, or the exit status of the command."),
      field("reason", &Delivered::reason, "For people."), field("time", &Delivered::time, "When."));
}

enum class Standing : std::uint8_t { kOk, kOff, kPending, kFiring };
constexpr auto words_of(Standing) {
  using enum Standing;
  return make_words<Standing>(
      {{kOk, "ok"}, {kOff, "off"}, {kPending, "pending"}, {kFiring, "firing"}});
}

struct RuleStateView {
  Alert::Subject subject;
  std::string text;
  bool firing = false;  // Else it has not been so for long enough.
  UnixMs since;
};
constexpr auto fields_of(Is<RuleStateView> auto*) {
  using View = RuleStateView;
  return fields(
      {"AlertStanding", "That a rule holds for one GPU or lease."},
      field("subject", &View::subject, "Which."),
      computed(
          "state", "pending: not for long enough.",
          [](const View& view) { return view.firing ? Standing::kFiring : Standing::kPending; },
          [](View& view, Standing state) { view.firing = state == Standing::kFiring; })
          .one_of("firing pending")
          .unknown_as_default(),
      field("text", &View::text, "One line for a person.").written(side::kAnswer),
      field("since", &View::since, "When it began."));
}

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
Standing state_of(const RuleView& rule);
/// Of the oldest of its states.
std::optional<UnixMs> since_of(const RuleView& rule);
constexpr auto fields_of(Is<RuleView> auto*) {
  using View = RuleView;
  return fields(
      {"AlertRule", "A rule, and what it says now."},
      field("name", &View::name, "As configured.").required(side::kAnswer),
      computed("state", "off: it is not looked at.", state_of,
               [](View& rule, Standing state) { rule.enabled = state != Standing::kOff; })
          .unknown_as_default(),
      computed("since", "Since when it has been pending or firing for one of them.", since_of),
      field("when", &View::when, "What it looks at.").written(side::kAnswer),
      field("severity", &View::severity, "How bad that is."),
      field("repeat", &View::repeat, "0: it is told once."),
      field("channels", &View::channels,
            "Who is told: events, terminal, desktop, webhook, command."),
      field("undelivered", &View::undelivered, "Messages to webhook and command that wait."),
      field("last_delivery", &View::last_delivery, "What came of the last message."),
      field("standing", &View::states, "For which it holds."));
}

/// GET /v1/alerts
struct AlertList {
  UnixMs time;
  std::vector<RuleView> items;
};
constexpr auto fields_of(Is<AlertList> auto*) {
  return fields({"AlertList", "", "berth/alerts/v1"},
                field("time", &AlertList::time, "Of the answer."),
                field("items", &AlertList::items, "By name.").required(side::kAnswer));
}
std::string encode_alerts(const AlertList& list);
Result<AlertList> decode_alerts(std::string_view text);

/// POST /v1/alerts/{rule}/test
struct AlertTest {
  std::string rule;
  std::vector<Delivered> outcomes;
};
constexpr auto fields_of(Is<AlertTest> auto*) {
  return fields({"AlertTest", "", "berth/alert_test/v1"},
                field("rule", &AlertTest::rule, "Its name.").written(side::kAnswer),
                field("items", &AlertTest::outcomes, "One a channel.").required(side::kAnswer));
}
std::string encode_alert_test(const AlertTest& test);
Result<AlertTest> decode_alert_test(std::string_view text);

}  // namespace berth::wire
