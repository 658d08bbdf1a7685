// SPDX-License-Identifier: Apache-2.0
#include "wire/alerts.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "wire/fields.h"
#include "wire/json_reader.h"

namespace berth::wire {
namespace {

void write_subject(JsonWriter& writer, const Alert::Subject& subject) {
  using Kind = Alert::Subject::Kind;
  writer.key("subject").begin_object();
  writer.key("kind").text(to_text(subject.kind));
  writer.key("id");
  if (subject.kind == Kind::kLease) {
    writer.number(subject.lease.value);
  } else {
    writer.text_or_null(subject.kind == Kind::kDevice ? to_text(subject.device) : "");
  }
  writer.key("name").text_or_null(subject.name);
  writer.end_object();
}

// A kind that a newer daemon may know is taken for the daemon itself.
Alert::Subject read_subject(ObjectReader& reader) {
  using Kind = Alert::Subject::Kind;
  Alert::Subject subject;
  std::string kind;
  reader.text("kind", kind);
  reader.text("name", subject.name);
  subject.kind = parse_word<Alert::Subject::Kind>(kind).value_or(Kind::kDaemon);
  if (subject.kind == Kind::kLease) subject.lease = {reader.number("id", kAny).value_or(0)};
  if (subject.kind == Kind::kDevice && reader.has("id")) {
    subject.device = read_device_id(reader, "id");
  }
  return subject;
}

// What a newer daemon can do besides is passed over.
std::vector<Alert::Action> read_actions(ObjectReader& reader) {
  std::vector<Alert::Action> actions;
  for (ObjectReader& one : reader.objects("actions", kAnyCount)) {
    Alert::Action action;
    std::string verb;
    one.text("verb", verb);
    one.text("label", action.label);
    action.lease = {one.number("lease", kAny).value_or(0)};
    const auto known = parse_word<Alert::Action::Verb>(verb);
    if (!known) continue;
    action.verb = *known;
    actions.push_back(std::move(action));
  }
  return actions;
}

void write_value(JsonWriter& writer, const Alert& alert) {
  writer.key("value");
  if (!alert.value) {
    writer.null();
  } else if (alert.unit == Alert::Unit::kShare) {
    writer.thousandths(*alert.value);
  } else {
    writer.number(*alert.value);
  }
  writer.key("unit").text_or_null(to_text(alert.unit));
}

void write_delivered(JsonWriter& writer, const Delivered& delivered) {
  writer.begin_object();
  writer.key("channel").text(delivered.channel);
  writer.key("outcome").text(delivered.outcome);
  writer.key("status");
  delivered.status ? writer.integer(*delivered.status) : writer.null();
  writer.key("reason").text_or_null(delivered.reason);
  writer.key("time").time(delivered.time);
  writer.end_object();
}

Delivered read_delivered(ObjectReader& reader) {
  Delivered delivered;
  reader.text("channel", delivered.channel);
  reader.text("outcome", delivered.outcome);
  if (reader.has("status")) reader.integer("status", delivered.status.emplace());
  reader.text("reason", delivered.reason);
  reader.time("time", delivered.time);
  return delivered;
}

void write_rule(JsonWriter& writer, const RuleView& rule) {
  const auto oldest = std::ranges::min_element(rule.states, {}, &RuleStateView::since);
  const bool stands = oldest != rule.states.end();
  writer.begin_object();
  writer.key("name").text(rule.name);
  writer.key("state").text(state_of(rule));
  writer.key("since").time(stands ? std::optional(oldest->since) : std::nullopt);
  writer.key("when").text(rule.when);
  writer.key("severity").text(to_text(rule.severity));
  writer.key("repeat_ms").milliseconds(rule.repeat);
  writer.key("channels").begin_array();
  for (const std::string& channel : rule.channels) writer.text(channel);
  writer.end_array();
  writer.key("undelivered").number(rule.undelivered);
  writer.key("last_delivery");
  rule.last_delivery ? write_delivered(writer, *rule.last_delivery) : void(writer.null());
  writer.key("standing").begin_array();
  for (const RuleStateView& state : rule.states) {
    writer.begin_object();
    write_subject(writer, state.subject);
    writer.key("state").text(state.firing ? "firing" : "pending");
    writer.key("text").text(state.text);
    writer.key("since").time(state.since);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
}

RuleView read_rule(ObjectReader& reader) {
  RuleView rule;
  std::string state;
  reader.require("name");
  reader.text("name", rule.name);
  reader.text("state", state);
  rule.enabled = state != "off";
  reader.text("when", rule.when);
  reader.word("severity", rule.severity);
  reader.milliseconds("repeat_ms", rule.repeat);
  reader.words("channels", rule.channels);
  rule.undelivered = reader.number("undelivered", kAny).value_or(0);
  if (auto last = reader.object("last_delivery")) rule.last_delivery = read_delivered(*last);
  for (ObjectReader& one : reader.objects("standing", kAnyCount)) {
    RuleStateView view;
    std::string firing;
    one.text("text", view.text);
    one.text("state", firing);
    view.firing = firing == "firing";
    one.time("since", view.since);
    if (auto subject = one.object("subject")) view.subject = read_subject(*subject);
    rule.states.push_back(std::move(view));
  }
  return rule;
}

}  // namespace

std::string encode_alert(const Alert& alert) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/alert/v1");
  writer.key("rule").text(alert.rule);
  writer.key("state").text(to_text(alert.state));
  write_subject(writer, alert.subject);
  writer.key("text").text(alert.text);
  write_value(writer, alert);
  writer.key("severity").text(to_text(alert.severity));
  writer.key("time").time(alert.time);
  writer.key("since").time(alert.since);
  writer.key("actions").begin_array();
  for (const Alert::Action& action : alert.actions) {
    writer.begin_object();
    writer.key("verb").text(to_text(action.verb));
    writer.key("lease").number(action.lease.value);
    writer.key("label").text(action.label);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return writer.take();
}

Result<Alert> decode_alert(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  Alert alert;
  reader.text("rule", alert.rule);
  reader.word("state", alert.state);
  if (auto subject = reader.object("subject")) alert.subject = read_subject(*subject);
  reader.text("text", alert.text);
  reader.word("severity", alert.severity);
  reader.time("time", alert.time);
  reader.time("since", alert.since);
  alert.actions = read_actions(reader);
  TRY_STATUS(document.status());
  return alert;
}

std::string_view state_of(const RuleView& rule) {
  if (!rule.enabled) return "off";
  if (rule.states.empty()) return "ok";
  return std::ranges::any_of(rule.states, &RuleStateView::firing) ? "firing" : "pending";
}

std::string encode_alerts(const AlertList& list) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/alerts/v1");
  writer.key("time").time(list.time);
  writer.key("items").begin_array();
  for (const RuleView& rule : list.items) write_rule(writer, rule);
  writer.end_array();
  writer.end_object();
  return writer.take();
}

Result<AlertList> decode_alerts(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  AlertList list;
  reader.require("items");
  reader.time("time", list.time);
  for (ObjectReader& item : reader.objects("items", kAnyCount)) {
    list.items.push_back(read_rule(item));
  }
  TRY_STATUS(document.status());
  return list;
}

std::string encode_alert_test(const AlertTest& test) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/alert_test/v1");
  writer.key("rule").text(test.rule);
  writer.key("items").begin_array();
  for (const Delivered& outcome : test.outcomes) write_delivered(writer, outcome);
  writer.end_array();
  writer.end_object();
  return writer.take();
}

Result<AlertTest> decode_alert_test(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  AlertTest test;
  reader.require("items");
  reader.text("rule", test.rule);
  for (ObjectReader& item : reader.objects("items", kAnyCount)) {
    test.outcomes.push_back(read_delivered(item));
  }
  TRY_STATUS(document.status());
  return test;
}

}  // namespace berth::wire
