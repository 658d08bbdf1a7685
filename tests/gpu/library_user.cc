// SPDX-License-Identifier: Apache-2.0
// gpu_library_user BYTES: a program that asks libberth for a lease of so much, and says what it
// measures on its device before and after the driver is loaded: a line "NAME VALUE" each.
// Exit: 0 done; 1 libberth said no, in words on stderr.
#include <berth/berth.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace {

bool ok(const char* what, berth_status status) {
  if (status == BERTH_OK) return true;
  std::cerr << "gpu_library_user: " << what << ": " << berth_last_error() << '\n';
  return false;
}

void say(const char* name, const berth_figure& figure) {
  if (figure.source != BERTH_UNKNOWN) std::cout << name << ' ' << figure.bytes << '\n';
}

bool say_room(berth_session session, std::uint64_t bytes) {
  berth_room room{};
  room.size = sizeof room;
  if (!ok("has_room", berth_has_room(session, 0, bytes, 0, &room))) return false;
  std::cout << (room.answer == BERTH_ROOM_YES  ? "room yes\n"
                : room.answer == BERTH_ROOM_NO ? "room no\n"
                                               : "room unknown\n");
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  berth_request request{};
  request.size = sizeof request;
  request.vram_bytes = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 0;
  request.name = "library";
  berth_session session = 0;
  if (!ok("acquire", berth_acquire(nullptr, &request, &session))) return 1;
  berth_session_facts facts{};
  facts.size = sizeof facts;
  berth_measurement measured{};
  measured.size = sizeof measured;
  if (!ok("describe", berth_session_describe(session, &facts)) ||
      !ok("measure", berth_measure(session, 0, 0, &measured)))
    return 1;
  std::cout << "lease " << facts.lease << '\n'
            << "driver " << ((facts.flags & BERTH_HAS_DRIVER) != 0 ? "yes" : "no") << '\n';
  say("total", measured.device_total);
  say("used", measured.device_used);
  say("free", measured.device_free);
  say("budget", measured.lease_budget);
  if (!say_room(session, request.vram_bytes / 2) || !say_room(session, 2 * request.vram_bytes))
    return 1;
  return ok("release", berth_release(session)) ? 0 : 1;
}
