// SPDX-License-Identifier: Apache-2.0
// Alerts: a rule says that something is so, or is over. Told as the event `alert`, and sent to
// those whom the rule names; docs/alerts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  enum class Unit : std::uint8_t { kNone, kBytes, kShare, kMilliseconds };

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
  return make_words<Alert::Unit>(
      {{kNone, ""}, {kBytes, "bytes"}, {kShare, "share"}, {kMilliseconds, "ms"}});
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
