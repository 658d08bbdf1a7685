// SPDX-License-Identifier: Apache-2.0
// The C functions of sessions and measurement. Any thread.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "berth/berth.h"
#include "library/error.h"
#include "library/handles.h"
#include "library/session.h"
#include "os/clock.h"

namespace berth::library {
namespace {

// Of a process: a program that attaches a hundred times is told once.
std::atomic<bool> has_said{false};

Say say_of(const berth_session_options& options) {
  if ((options.flags & BERTH_QUIET) != 0) return [](std::string_view) {};
  if (options.say == nullptr) {
    return [](std::string_view line) {
      if (has_said.exchange(true)) return;
      const std::string text = "berth: " + std::string(line) + "\n";
      std::fputs(text.c_str(), stderr);
    };
  }
  return [options](std::string_view line) {
    try {
      options.say(options.user, std::string(line).c_str());
    } catch (...) {
      // What a program makes of a line is its own matter.
      fail(BERTH_CALLBACK, "the callback say threw an exception");
    }
  };
}

}  // namespace
}  // namespace berth::library

using berth::library::check_sized;
using berth::library::copy_text;
using berth::library::Ending;
using berth::library::guarded;
using berth::library::Session;
using berth::library::to_c;
using berth::library::with;
using berth::library::write_sized;

extern "C" {

uint32_t berth_abi(void) {
  return BERTH_ABI;
}

const char* berth_version(void) {
  return BERTH_VERSION;
}

const char* berth_status_name(berth_status status) {
  static constexpr const char* kNames[] = {
      "BERTH_OK",         "BERTH_INVALID",     "BERTH_STALE",         "BERTH_NOT_FOUND",
      "BERTH_PERMISSION", "BERTH_UNAVAILABLE", "BERTH_TIMED_OUT",     "BERTH_IO",
      "BERTH_FULL",       "BERTH_CORRUPT",     "BERTH_OTHER_VERSION", "BERTH_CONFLICT",
      "BERTH_BUSY",       "BERTH_CALLBACK",    "BERTH_OUT_OF_MEMORY", "BERTH_INTERNAL"};
  const bool known = status >= 0 && status <= BERTH_INTERNAL;
  return known ? kNames[status] : "unknown status";
}

const char* berth_last_error(void) {
  return berth::library::last_error();
}

berth_status berth_attach(const berth_session_options* options, berth_session* session) {
  return guarded([=]() -> Ending {
    if (session == nullptr) return berth::library::fail(BERTH_INVALID, "session is null");
    *session = 0;
    TRY(given, berth::library::read_optional(options, "options"));
    return hand_out(std::make_shared<Session>(berth::library::say_of(given)), session);
  });
}

berth_status berth_detach(berth_session session) {
  return berth::library::close_handle<Session>(session);
}

berth_status berth_session_describe(berth_session session, berth_session_facts* facts) {
  return with<Session>(session, [=](const Session& found) -> Ending {
    TRY_STATUS(check_sized(facts, "facts"));
    berth_session_facts out{};
    if (found.has_lease()) out.flags |= BERTH_HAS_LEASE;
    if (found.has_driver()) out.flags |= BERTH_HAS_DRIVER;
    if (found.simulated()) out.flags |= BERTH_SIMULATED;
    out.lease = found.lease_number();
    out.device_count = static_cast<std::uint32_t>(found.device_count());
    return write_sized(facts, out);
  });
}

berth_status berth_device_describe(berth_session session, uint32_t device,
                                   berth_device_facts* facts) {
  return with<Session>(session, [=](const Session& found) -> Ending {
    TRY_STATUS(check_sized(facts, "facts"));
    const auto* seen = found.device(device);
    if (seen == nullptr) return found.no_device(device);
    berth_device_facts out{};
    out.driver_index = seen->driver_index;
    out.total_bytes = seen->total.value;
    copy_text(out.uuid, seen->uuid);
    copy_text(out.name, seen->name);
    return write_sized(facts, out);
  });
}

berth_status berth_measure(berth_session session, uint32_t device, uint64_t age_max_ns,
                           berth_measurement* measurement) {
  return with<Session>(session, [=](Session& found) -> Ending {
    TRY_STATUS(check_sized(measurement, "measurement"));
    // Without any device all that is asked about one is unknown, and the host's memory is not.
    if (found.device_count() > 0 && found.device(device) == nullptr) return found.no_device(device);
    const berth::Duration age_max = berth::library::age_of(age_max_ns);
    const berth::library::Measured measured = found.measure(device, age_max);
    const berth::Instant now = berth::os::PosixClock().now();
    berth_measurement out{};
    out.device = device;
    out.device_total = to_c(measured.total, now);
    out.device_used = to_c(measured.used, now);
    out.device_free = to_c(measured.free, now);
    out.process_used = to_c(measured.own, now);
    out.lease_used = to_c(measured.lease_used, now);
    out.lease_budget = to_c(measured.budget, now);
    out.host_used = to_c(found.host_used(age_max), now);
    return write_sized(measurement, out);
  });
}

}  // extern "C"
