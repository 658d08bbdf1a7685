// SPDX-License-Identifier: Apache-2.0
#include "notify/session_bus.h"

#include <systemd/sd-bus.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace berth::notify {
namespace {

constexpr const char* kName = "org.freedesktop.Notifications";
constexpr const char* kOwnName = "io.github.berth.Notify";
constexpr const char* kPath = "/org/freedesktop/Notifications";
constexpr std::uint64_t kAnswerWithinUs = 5'000'000;

struct BusCloser {
  void operator()(sd_bus* bus) const { ::sd_bus_close_unref(bus); }
};
struct MessageGiver {
  void operator()(sd_bus_message* message) const { ::sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, MessageGiver>;

/// An error that a call may leave behind, given back when it goes.
class BusError {
 public:
  BusError() = default;
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  ~BusError() { ::sd_bus_error_free(&error_); }
  sd_bus_error* get() { return &error_; }
  std::string text(int code) const {
    return error_.message != nullptr ? error_.message : std::strerror(-code);
  }

 private:
  sd_bus_error error_{};  // SD_BUS_ERROR_NULL, which clang takes for C alone.
};

Error no_server(const std::string& why) {
  return {Errc::kUnavailable, "this session shows no notifications (" + why +
                                  "): start its notification server, or install one such as dunst"};
}

// What is put together here always fits: a failure is one of ours, or of memory.
void must(int code) {
  CHECK(code >= 0);
}

Message new_call(sd_bus* bus, const char* method) {
  sd_bus_message* message = nullptr;
  must(::sd_bus_message_new_method_call(bus, &message, kName, kPath, kName, method));
  return Message(message);
}

Result<Message> call(sd_bus* bus, const Message& message) {
  BusError error;
  sd_bus_message* reply = nullptr;
  const int code = ::sd_bus_call(bus, message.get(), kAnswerWithinUs, error.get(), &reply);
  if (code < 0) return no_server(error.text(code));
  return Message(reply);
}

void append_buttons(sd_bus_message* message, const std::vector<Button>& buttons) {
  must(::sd_bus_message_open_container(message, 'a', "s"));
  for (const Button& button : buttons) {
    must(::sd_bus_message_append(message, "ss", button.key.c_str(), button.label.c_str()));
  }
  must(::sd_bus_message_close_container(message));
}

}  // namespace

struct SessionBus::Impl {
  std::unique_ptr<sd_bus, BusCloser> bus;
  std::vector<BusNews> news;

  static int pressed(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    std::uint32_t id = 0;
    const char* key = nullptr;
    if (::sd_bus_message_read(message, "us", &id, &key) >= 0) {
      static_cast<Impl*>(data)->news.emplace_back(Pressed{.id = {id}, .key = key});
    }
    return 0;
  }
  static int closed(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    constexpr std::uint32_t kExpired = 1;
    constexpr std::uint32_t kDismissed = 2;
    std::uint32_t id = 0;
    std::uint32_t reason = 0;
    if (::sd_bus_message_read(message, "uu", &id, &reason) >= 0 &&
        (reason == kExpired || reason == kDismissed)) {
      static_cast<Impl*>(data)->news.emplace_back(Dismissed{{id}});
    }
    return 0;
  }
  static int owner_changed(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    const char* name = nullptr;
    const char* before = nullptr;
    const char* after = nullptr;
    if (::sd_bus_message_read(message, "sss", &name, &before, &after) >= 0 && *after != '\0') {
      static_cast<Impl*>(data)->news.emplace_back(ServerCame{});
    }
    return 0;
  }
  static int name_lost(sd_bus_message* message, void* data, sd_bus_error* /*error*/) {
    const char* name = nullptr;
    if (::sd_bus_message_read(message, "s", &name) >= 0 && std::string_view(name) == kOwnName) {
      static_cast<Impl*>(data)->news.emplace_back(Replaced{});
    }
    return 0;
  }

  int listen() {
    constexpr const char* kOwners =
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
        "member='NameOwnerChanged',arg0='org.freedesktop.Notifications'";
    int code = ::sd_bus_match_signal(bus.get(), nullptr, kName, kPath, kName, "ActionInvoked",
                                     &pressed, this);
    if (code < 0) return code;
    code = ::sd_bus_match_signal(bus.get(), nullptr, kName, kPath, kName, "NotificationClosed",
                                 &closed, this);
    if (code < 0) return code;
    code =
        ::sd_bus_match_signal(bus.get(), nullptr, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                              "org.freedesktop.DBus", "NameLost", &name_lost, this);
    if (code < 0) return code;
    return ::sd_bus_add_match(bus.get(), nullptr, kOwners, &owner_changed, this);
  }
};

SessionBus::SessionBus(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SessionBus::SessionBus(SessionBus&&) noexcept = default;
SessionBus::~SessionBus() = default;

Result<SessionBus> SessionBus::open() {
  auto impl = std::make_unique<Impl>();
  sd_bus* bus = nullptr;
  int code = ::sd_bus_open_user(&bus);
  impl->bus.reset(bus);
  if (code >= 0) code = impl->listen();
  if (code < 0) {
    return Error{Errc::kUnavailable,
                 std::string("there is no session bus (") + std::strerror(-code) +
                     "): start this in a desktop session, by: systemctl --user start berth-notify"};
  }
  return SessionBus(std::move(impl));
}

Result<bool> SessionBus::take_place(bool gives_way) {
  const std::uint64_t flags =
      gives_way ? SD_BUS_NAME_ALLOW_REPLACEMENT : SD_BUS_NAME_REPLACE_EXISTING;
  const int code = ::sd_bus_request_name(impl_->bus.get(), kOwnName, flags);
  if (code >= 0 || !gives_way) return true;
  if (code == -EEXIST) return false;
  return Error{Errc::kUnavailable,
               std::string("the session bus gives no name (") + std::strerror(-code) + ")"};
}

Result<Skills> SessionBus::ask_server() {
  TRY(reply, call(impl_->bus.get(), new_call(impl_->bus.get(), "GetCapabilities")));
  Skills skills;
  if (::sd_bus_message_enter_container(reply.get(), 'a', "s") < 0) return no_server("no answer");
  const char* word = nullptr;
  while (::sd_bus_message_read(reply.get(), "s", &word) > 0) {
    if (std::string_view(word) == "body-markup") skills.markup = true;
    if (std::string_view(word) == "actions") skills.buttons = true;
  }
  return skills;
}

Result<NotificationId> SessionBus::show(const Notification& content, NotificationId replaces) {
  constexpr std::int32_t kAsTheServerDoes = -1;
  const Message message = new_call(impl_->bus.get(), "Notify");
  must(::sd_bus_message_append(message.get(), "susss", "Berth", replaces.value, "",
                               content.summary.c_str(), content.body.c_str()));
  append_buttons(message.get(), content.buttons);
  must(::sd_bus_message_append(message.get(), "a{sv}i", 1, "urgency", "y",
                               static_cast<int>(content.urgency), kAsTheServerDoes));
  TRY(reply, call(impl_->bus.get(), message));
  NotificationId id;
  if (::sd_bus_message_read(reply.get(), "u", &id.value) < 0) return no_server("no number");
  return id;
}

Status SessionBus::close(NotificationId id) {
  const Message message = new_call(impl_->bus.get(), "CloseNotification");
  must(::sd_bus_message_append(message.get(), "u", id.value));
  TRY(reply, call(impl_->bus.get(), message));
  return Unit{};
}

int SessionBus::descriptor() const {
  return ::sd_bus_get_fd(impl_->bus.get());
}

short SessionBus::events() const {
  return static_cast<short>(::sd_bus_get_events(impl_->bus.get()));
}

Duration SessionBus::patience() const {
  constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t until_us = 0;
  if (::sd_bus_get_timeout(impl_->bus.get(), &until_us) < 0 || until_us == kForEver) {
    return Duration::max();
  }
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t left_us =
      static_cast<std::int64_t>(until_us) - (now.tv_sec * 1'000'000 + now.tv_nsec / 1'000);
  return Duration{std::max<std::int64_t>(0, left_us) * 1'000};
}

Result<std::vector<BusNews>> SessionBus::read() {
  int code = 0;
  while ((code = ::sd_bus_process(impl_->bus.get(), nullptr)) > 0) {
  }
  if (code < 0) return Error{Errc::kUnavailable, "the session bus is gone: the session has ended"};
  return std::exchange(impl_->news, {});
}

}  // namespace berth::notify
