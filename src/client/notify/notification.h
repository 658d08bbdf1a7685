// SPDX-License-Identifier: Apache-2.0
// An alert as a notification of the desktop, in the terms of the Desktop
// Notifications Specification. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/alert.h"

namespace berth::notify {

/// What the session's notification server can do.
struct Skills {
  bool markup = false;   // Bodies are markup: text in them must be escaped.
  bool buttons = false;  // Actions are shown.
};

enum class Urgency : std::uint8_t { kLow, kNormal, kCritical };

struct Button {
  std::string key;  // What comes back when it is pressed.
  std::string label;
};

struct Notification {
  std::string summary;  // Never markup.
  std::string body;
  Urgency urgency = Urgency::kNormal;
  std::vector<Button> buttons = {};
};

Notification notification_of(const Alert& alert, const Skills& skills);
/// Text for a body.
std::string body_of(std::string_view text, const Skills& skills);

/// A button's key, taken apart: only what such a key can say is ever done.
std::optional<Alert::Action> parse_key(std::string_view key);

}  // namespace berth::notify
