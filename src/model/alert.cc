// SPDX-License-Identifier: Apache-2.0
#include "model/alert.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace berth {
namespace {

constexpr std::array<std::string_view, 3> kSeverities = {"info", "warn", "critical"};
constexpr std::array<std::string_view, 2> kAlertStates = {"firing", "cleared"};
constexpr std::array<std::string_view, 3> kSubjectKinds = {"device", "lease", "daemon"};
constexpr std::array<std::string_view, 3> kActionVerbs = {"show", "pause", "checkpoint"};
constexpr std::array<std::string_view, 2> kChannels = {"webhook", "command"};
constexpr std::array<std::string_view, 4> kUnits = {"", "bytes", "share", "ms"};

template <class Value>
std::string_view word_at(const auto& words, Value value) {
  return words.at(static_cast<std::size_t>(value));
}

template <class Value>
std::optional<Value> value_among(const auto& words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Value>(found - words.begin());
}

}  // namespace

std::string_view to_text(Severity severity) {
  return word_at(kSeverities, severity);
}
std::string_view to_text(Alert::State state) {
  return word_at(kAlertStates, state);
}
std::string_view to_text(Alert::Subject::Kind kind) {
  return word_at(kSubjectKinds, kind);
}
std::string_view to_text(Alert::Action::Verb verb) {
  return word_at(kActionVerbs, verb);
}
std::string_view to_text(Alert::Unit unit) {
  return word_at(kUnits, unit);
}
std::string_view to_text(AlertDelivery::Channel channel) {
  return word_at(kChannels, channel);
}
std::optional<AlertDelivery::Channel> parse_alert_channel(std::string_view word) {
  return value_among<AlertDelivery::Channel>(kChannels, word);
}
std::optional<Severity> parse_severity(std::string_view word) {
  return value_among<Severity>(kSeverities, word);
}
std::optional<Alert::State> parse_alert_state(std::string_view word) {
  return value_among<Alert::State>(kAlertStates, word);
}
std::optional<Alert::Subject::Kind> parse_subject_kind(std::string_view word) {
  return value_among<Alert::Subject::Kind>(kSubjectKinds, word);
}
std::optional<Alert::Action::Verb> parse_action_verb(std::string_view word) {
  return value_among<Alert::Action::Verb>(kActionVerbs, word);
}

}  // namespace berth
