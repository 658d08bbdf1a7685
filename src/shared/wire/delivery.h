// SPDX-License-Identifier: Apache-2.0
// Orders of the daemon to berth-deliver to send something, and their outcomes: a line of JSON each
// way. Both are of one installation, so there is no version. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"

namespace berth::wire {

namespace limits {
inline constexpr std::size_t kDeliveryMax = std::size_t{512} << 10U;  // Of the line.
inline constexpr std::size_t kDeliveryIdMax = 64;
inline constexpr std::size_t kDeliveryWordsMax = 64;  // Of a command.
}  // namespace limits

struct Webhook {
  std::string url;       // Empty: in the file.
  std::string url_file;  // Read when it is sent, so that nothing else holds what may be a secret.
  std::string secret_file;  // Empty: what is sent is not signed, unless with what `secret` holds.
  std::string secret;       // For one who cannot read the file.
  bool allow_private = false;
  friend bool operator==(const Webhook&, const Webhook&) = default;
};

struct AlertCommand {
  std::vector<std::string> words;
  friend bool operator==(const AlertCommand&, const AlertCommand&) = default;
};

struct Delivery {
  std::string id;     // The same each time it is tried: letters, digits, '-' and '_'.
  std::string event;  // As an id, or with dots.
  std::string body;   // Sent as it is; limits::kBodyMax.
  std::variant<Webhook, AlertCommand> to;
  friend bool operator==(const Delivery&, const Delivery&) = default;
};

/// {"kind":"webhook","delivery":…,"event":…,"body":…,"url":…,"url_file":…,
/// "secret_file":…,"allow_private":…}
/// or {"kind":"command","delivery":…,"event":…,"body":…,"argv":[…]}, and a line feed.
std::string encode_delivery(const Delivery& delivery);
/// No message of its errors repeats an address.
Result<Delivery> decode_delivery(std::string_view line);

struct DeliveryOutcome {
  enum class Kind : std::uint8_t {
    kDelivered,
    kRetry,    // Nobody took it, and a later try may succeed.
    kRefused,  // It would be refused again: by the other side, or by a rule of ours.
  };
  Kind kind = Kind::kRetry;
  std::optional<std::uint32_t> status;  // Of HTTP, or the command's exit status.
  std::optional<Duration> retry_after;  // The other side asked for this pause.
  std::string reason;                   // For a person, without secrets; written as one line.
  friend bool operator==(const DeliveryOutcome&, const DeliveryOutcome&) = default;
};
constexpr auto words_of(DeliveryOutcome::Kind) {
  using enum DeliveryOutcome::Kind;
  return make_words<DeliveryOutcome::Kind>(
      {{kDelivered, "delivered"}, {kRetry, "retry"}, {kRefused, "refused"}});
}
constexpr auto fields_of(Is<DeliveryOutcome> auto*) {
  using Outcome = DeliveryOutcome;
  return fields({}, field("outcome", &Outcome::kind).required(side::kAnswer),
                field("status", &Outcome::status), field("retry_after", &Outcome::retry_after),
                field("reason", &Outcome::reason).of(TextForm::kLine).written(side::kAnswer));
}

/// {"outcome":"delivered"|"retry"|"refused","status":…,"retry_after_ms":…,"reason":…} and a line
/// feed.
std::string encode_outcome(const DeliveryOutcome& outcome);
Result<DeliveryOutcome> decode_outcome(std::string_view line);

}  // namespace berth::wire
