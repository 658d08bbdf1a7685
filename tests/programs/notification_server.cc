// SPDX-License-Identifier: Apache-2.0
// notification_server CAPABILITY...: what a desktop has to show notifications, for tests. It has
// the methods of the Desktop Notifications Specification, writes a line of JSON for each call of
// one, and two more by which a test acts for the person before it: Press(id, key) and Dismiss(id).
// Its numbers begin at 1 again each time it is started.
#include <systemd/sd-bus.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace {

constexpr const char* kName = "org.freedesktop.Notifications";
constexpr const char* kPath = "/org/freedesktop/Notifications";

std::span<char*> capabilities;  // As main() was given them, with a null behind.
std::uint32_t last_id = 0;

void must(int code) {
  if (code >= 0) return;
  std::fprintf(stderr, "notification_server: error %d\n", -code);
  std::exit(1);
}

void say(const nlohmann::json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

std::uint32_t number_in(sd_bus_message* message) {
  std::uint32_t number = 0;
  must(sd_bus_message_read(message, "u", &number));
  return number;
}

std::string text_in(sd_bus_message* message) {
  const char* text = nullptr;
  must(sd_bus_message_read(message, "s", &text));
  return text;
}

int notify(sd_bus_message* message) {
  nlohmann::json line = {{"call", "Notify"}, {"buttons", nlohmann::json::object()}};
  line["app"] = text_in(message);
  const std::uint32_t replaces = number_in(message);
  line["replaces"] = replaces;
  (void)text_in(message);
  line["summary"] = text_in(message);
  line["body"] = text_in(message);
  must(sd_bus_message_enter_container(message, 'a', "s"));
  const char* key = nullptr;
  const char* label = nullptr;
  while (sd_bus_message_read(message, "ss", &key, &label) > 0) line["buttons"][key] = label;
  must(sd_bus_message_exit_container(message));
  must(sd_bus_message_enter_container(message, 'a', "{sv}"));
  while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
    std::uint8_t value = 0;
    const std::string hint = text_in(message);
    must(sd_bus_message_read(message, "v", "y", &value));
    line[hint] = value;
    must(sd_bus_message_exit_container(message));
  }
  const std::uint32_t id = replaces != 0 ? replaces : ++last_id;
  line["id"] = id;
  say(line);
  return sd_bus_reply_method_return(message, "u", id);
}

int call(sd_bus_message* message, void* /*data*/, sd_bus_error* /*error*/) {
  sd_bus* bus = sd_bus_message_get_bus(message);
  const auto is = [&](const char* name) {
    return sd_bus_message_is_method_call(message, nullptr, name) > 0;
  };
  if (is("Notify")) return notify(message);
  if (is("GetCapabilities")) {
    sd_bus_message* reply = nullptr;
    must(sd_bus_message_new_method_return(message, &reply));
    must(sd_bus_message_append_strv(reply, capabilities.data()));
    const int sent = sd_bus_send(nullptr, reply, nullptr);
    sd_bus_message_unref(reply);
    return sent < 0 ? sent : 1;
  }
  const bool closes = is("CloseNotification");
  if (closes || is("Dismiss")) {
    const std::uint32_t id = number_in(message);
    if (closes) say({{"call", "Close"}, {"id", id}});
    must(sd_bus_emit_signal(bus, kPath, kName, "NotificationClosed", "uu", id, closes ? 3U : 2U));
    return sd_bus_reply_method_return(message, "");
  }
  if (is("Press")) {
    const std::uint32_t id = number_in(message);
    const std::string key = text_in(message);
    must(sd_bus_emit_signal(bus, kPath, kName, "ActionInvoked", "us", id, key.c_str()));
    return sd_bus_reply_method_return(message, "");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  capabilities = std::span(arguments, static_cast<std::size_t>(count) + 1).subspan(1);
  sd_bus* bus = nullptr;
  must(sd_bus_open_user(&bus));
  must(sd_bus_add_object(bus, nullptr, kPath, &call, nullptr));
  must(sd_bus_request_name(bus, kName, 0));
  for (;;) {
    const int done = sd_bus_process(bus, nullptr);
    must(done);
    if (done == 0) must(sd_bus_wait(bus, UINT64_MAX));
  }
}
