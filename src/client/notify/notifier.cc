// SPDX-License-Identifier: Apache-2.0
#include "notify/notifier.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <variant>

namespace berth::notify {
namespace {

constexpr std::size_t kProcessesMax = 4;  // At a time.

}  // namespace

void say(std::string_view line) {
  std::string text("berth-notify: ");
  text.append(line).append("\n");
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

Status Notifier::run() {
  TRY(skills, bus_.ask_server());
  skills_ = skills;
  while (!over_ && !signals_.read()) {
    TRY_STATUS(look_at_bus());
    TRY_STATUS(look_at_daemon());
    look_at_actions();
    // What a call to the bus has let wait is looked at before there is anything to wait for.
    TRY_STATUS(look_at_bus());
    if (!over_) wait();
  }
  return Unit{};
}

Status Notifier::look_at_daemon() {
  TRY(news, follower_.look(clock_.now()));
  if (news.states) perform(notifications_.reconciled(*news.states));
  for (const Alert& alert : news.alerts) perform(notifications_.heard(alert));
  over_ = over_ || news.over;
  return Unit{};
}

Status Notifier::look_at_bus() {
  TRY(all, bus_.read());
  for (const BusNews& news : all) {
    if (const auto* button = std::get_if<Pressed>(&news)) {
      press(*button);
    } else if (const auto* away = std::get_if<Dismissed>(&news)) {
      notifications_.dismissed(away->id);
    } else if (std::holds_alternative<Replaced>(news)) {
      over_ = true;
    } else if (const auto skills = bus_.ask_server(); skills.ok()) {
      skills_ = *skills;
      perform(notifications_.server_came());
    }
  }
  return Unit{};
}

void Notifier::look_at_actions() {
  for (auto process = processes_.begin(); process != processes_.end();) {
    if (process->read()) {
      ++process;
      continue;
    }
    show_text(process->what(), process->said(), process->succeeded());
    process = processes_.erase(process);
  }
}

void Notifier::wait() {
  std::vector<pollfd> wanted = {
      {.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
      {.fd = bus_.descriptor(), .events = bus_.events(), .revents = 0},
      {.fd = follower_.descriptor(), .events = POLLIN, .revents = 0},
  };
  for (const ActionProcess& process : processes_) {
    wanted.push_back({.fd = process.descriptor(), .events = POLLIN, .revents = 0});
  }
  const Duration until_try = follower_.look_at() - clock_.now();
  const Duration most = std::clamp(std::min(bus_.patience(), until_try), Duration{}, hours(1));
  const std::int64_t ms = (most.ns + milliseconds(1).ns - 1) / milliseconds(1).ns;
  (void)::poll(wanted.data(), wanted.size(), static_cast<int>(ms));
}

// Where there is no server at the moment, the alert is shown when the next one comes.
void Notifier::perform(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    if (change.kind == Change::Kind::kClose) {
      (void)bus_.close(change.id).ok();  // It may have gone by itself.
      continue;
    }
    const auto id = bus_.show(notification_of(change.alert, skills_), change.id);
    if (id.ok()) {
      notifications_.shown(change.alert, *id);
    } else {
      say(change.alert.text + " (" + id.error().message + ")");
    }
  }
}

// The key is what the server says was pressed: no more is done than such a key can say.
void Notifier::press(const Pressed& button) {
  const auto action = parse_key(button.key);
  if (!notifications_.is_ours(button.id) || !action) return;
  if (processes_.size() == kProcessesMax) {
    show_text("berth", "too much is being done already: press again later", false);
    return;
  }
  auto process = ActionProcess::start(*action);
  if (process.ok()) {
    processes_.push_back(*std::move(process));
  } else {
    show_text("berth", process.error().message, false);
  }
}

void Notifier::show_text(const std::string& what, std::string_view said, bool succeeded) {
  Notification notification{.summary = what, .body = body_of(said, skills_)};
  if (!succeeded) notification.summary += ": failed";
  if (const auto id = bus_.show(notification, {}); !id.ok()) say(id.error().message);
}

}  // namespace berth::notify
