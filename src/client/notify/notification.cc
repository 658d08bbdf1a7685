// SPDX-License-Identifier: Apache-2.0
#include "notify/notification.h"

#include <cstddef>

#include "base/letters.h"
#include "base/number.h"

namespace berth::notify {
namespace {

constexpr std::size_t kBodyMax = 1'024;  // Bytes; a desktop shows some lines.
constexpr std::size_t kButtonsMax = 4;

Urgency urgency_of(Severity severity) {
  if (severity == Severity::kInfo) return Urgency::kLow;
  return severity == Severity::kCritical ? Urgency::kCritical : Urgency::kNormal;
}

std::string shortened(std::string_view text) {
  if (text.size() <= kBodyMax) return std::string(text);
  return std::string(whole_letters(text, kBodyMax)) + "…";
}

std::string escaped(std::string_view text) {
  std::string markup;
  for (const char c : text) {
    if (c == '&')
      markup += "&amp;";
    else if (c == '<')
      markup += "&lt;";
    else if (c == '>')
      markup += "&gt;";
    else
      markup += c;
  }
  return markup;
}

}  // namespace

std::string body_of(std::string_view text, const Skills& skills) {
  const std::string body = escape_control_line(shortened(text));
  return skills.markup ? escaped(body) : body;
}

Notification notification_of(const Alert& alert, const Skills& skills) {
  const std::string name = escape_control_line(alert.subject.name);
  Notification notification{
      .summary = (name.empty() ? "" : name + ": ") + escape_control_line(alert.rule),
      .body = body_of(alert.text, skills),
      .urgency = urgency_of(alert.severity)};
  if (!skills.buttons) return notification;
  for (const Alert::Action& action : alert.actions) {
    if (notification.buttons.size() == kButtonsMax) break;
    std::string key(to_text(action.verb));
    key.append(" ").append(to_text(action.lease));
    notification.buttons.push_back(
        {.key = std::move(key), .label = escape_control_line(action.label)});
  }
  return notification;
}

std::optional<Alert::Action> parse_key(std::string_view key) {
  const std::size_t blank = key.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto verb = parse_word<Alert::Action::Verb>(key.substr(0, blank));
  if (!verb) return std::nullopt;
  const auto lease = parse_number<std::uint64_t>(key.substr(blank + 1));
  if (!lease) return std::nullopt;
  return Alert::Action{.verb = *verb, .lease = {*lease}};
}

}  // namespace berth::notify
