// SPDX-License-Identifier: Apache-2.0
// Alerts: a rule says that something is so, or is over. Told as the event `alert`, and sent to
// those whom the rule names; docs/alerts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"

namespace berth {

enum class Severity : std::uint8_t { kInfo, kWarn, kCritical };
constexpr auto words_of(Severity) {
  using enum Severity;
  return make_words<Severity>({{kInfo, "info"}, {kWarn, "warn"}, {kCritical, "critical"}});
}

struct Alert {
  enum class State : std::uint8_t { kFiring, kCleared };

  /// What it is about.
  struct Subject {
    enum class Kind : std::uint8_t { kDevice, kLease, kDaemon };
    Kind kind = Kind::kDaemon;
    DeviceId device;   // Of kDevice.
    LeaseId lease;     // Of kLease.
    std::string name;  // "GPU 0", or that of the lease; may be empty.
  };

  /// What a person could do about it.
  struct Action {
    enum class Verb : std::uint8_t { kShow, kPause, kCheckpoint };
    Verb verb = Verb::kShow;
    LeaseId lease;
    std::string label;  // "Pause train"
  };

  enum class Unit : std::uint8_t { kNone, kBytes, kShare, kMilliseconds, kCelsius, kWatts };

  std::string rule;
  State state = State::kFiring;
  Subject subject;
  std::string text;                    // One line for a person.
  std::optional<std::uint64_t> value;  // As its unit has it; a share in thousandths.
  Unit unit = Unit::kNone;
  Severity severity = Severity::kWarn;
  UnixMs time;
  UnixMs since;  // When what it tells of began.
  std::vector<Action> actions = {};
};
constexpr auto words_of(Alert::Unit) {
  using enum Alert::Unit;
  return make_words<Alert::Unit>({{kNone, ""},
                                  {kBytes, "bytes"},
                                  {kShare, "share"},
                                  {kMilliseconds, "ms"},
                                  {kCelsius, "celsius"},
                                  {kWatts, "watts"}});
}
constexpr auto words_of(Alert::Action::Verb) {
  using enum Alert::Action::Verb;
  return make_words<Alert::Action::Verb>(
      {{kShow, "show"}, {kPause, "pause"}, {kCheckpoint, "checkpoint"}});
}
constexpr auto words_of(Alert::Subject::Kind) {
  using enum Alert::Subject::Kind;
  return make_words<Alert::Subject::Kind>(
      {{kDevice, "device"}, {kLease, "lease"}, {kDaemon, "daemon"}});
}
constexpr auto words_of(Alert::State) {
  using enum Alert::State;
  return make_words<Alert::State>({{kFiring, "firing"}, {kCleared, "cleared"}});
}

/// A share in thousandths.
struct Thousandths {
  std::uint64_t value = 0;
};
constexpr auto fields_of(Is<Alert::Subject> auto*) {
  using Subject = Alert::Subject;
  using Kind = Subject::Kind;
  using Id = std::variant<std::monostate, LeaseId, DeviceId>;
  return fields({"AlertSubject", "What an alert is about."},
                field("kind", &Subject::kind, "A kind that is not known: the daemon itself.")
                    .unknown_as_default(),
                computed(
                    "id", "Of a lease its number, of a GPU its UUID.",
                    [](const Subject& subject) -> Id {
                      if (subject.kind == Kind::kLease) return subject.lease;
                      if (subject.kind == Kind::kDevice) return subject.device;
                      return {};
                    },
                    [](Subject& subject, const Id& id) {
                      if (const auto* lease = std::get_if<LeaseId>(&id)) subject.lease = *lease;
                      if (const auto* device = std::get_if<DeviceId>(&id)) subject.device = *device;
                    }),
                field("name", &Subject::name, "Of the lease or GPU."));
}
constexpr auto fields_of(Is<Alert::Action> auto*) {
  using Action = Alert::Action;
  return fields({"AlertAction", "What a person could do."},
                field("verb", &Action::verb, "Of `berth`.").skipping_unknown(),
                field("lease", &Action::lease, "Its number."),
                field("label", &Action::label, "For a button.").written(side::kAnswer));
}
constexpr auto fields_of(Is<Alert> auto*) {
  using Value = std::variant<std::monostate, std::uint64_t, Thousandths>;
  return fields(
      {"Alert", "What a rule has to say; the data of the event `alert`.", "berth/alert/v1"},
      field("rule", &Alert::rule, "Its name.").written(side::kAnswer),
      field("state", &Alert::state,
            "firing: it is so, or has happened. cleared: what was so is over."),
      field("subject", &Alert::subject, "What it is about."),
      field("text", &Alert::text, "One line for a person.").written(side::kAnswer),
      computed("value", "The figure, where there is one.",
               [](const Alert& alert) -> Value {
                 if (!alert.value) return {};
                 if (alert.unit == Alert::Unit::kShare) return Thousandths{*alert.value};
                 return *alert.value;
               }),
      field("unit", &Alert::unit, "Of the value.").null_at_default().unknown_as_default(),
      field("severity", &Alert::severity, "How bad that is, as the rule says."),
      field("time", &Alert::time, "When this was said."),
      field("since", &Alert::since, "When what it tells of began."),
      field("actions", &Alert::actions, "What a person could do about it."));
}

/// A message that is to be sent.
struct AlertDelivery {
  enum class Channel : std::uint8_t { kWebhook, kCommand };
  std::uint64_t number = 0;  // In the order in which they are to arrive.
  std::string id;            // The same at each try, so that a second one can be told.
  std::string rule;
  Channel channel = Channel::kWebhook;
  std::string body;
  UnixMs created;
  UnixMs next;  // Not to be tried before.
  std::uint32_t attempts = 0;
  friend bool operator==(const AlertDelivery&, const AlertDelivery&) = default;
};
constexpr auto words_of(AlertDelivery::Channel) {
  using enum AlertDelivery::Channel;
  return make_words<AlertDelivery::Channel>({{kWebhook, "webhook"}, {kCommand, "command"}});
}

/// An alert that is not over, so that a daemon after this one neither tells it again nor forgets to
/// tell its end.
struct FiringAlert {
  std::string rule;
  std::string when;  // What the rule said then.
  DeviceId device;   // Of one about a device, else its lease.
  LeaseId lease;
  std::string name;  // Of the subject.
  std::string text;
  UnixMs since;
  UnixMs notified;  // The last time.
  friend bool operator==(const FiringAlert&, const FiringAlert&) = default;
};

/// What a daemon leaves to the next one.
struct KeptAlerts {
  std::vector<AlertDelivery> messages;  // In order.
  std::vector<FiringAlert> firing;
};

}  // namespace berth
