// SPDX-License-Identifier: Apache-2.0
// The C functions of sessions and measurement. Any thread.
#include <algorithm>
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

template <std::size_t kSize>
void copy_name(char (&to)[kSize], const std::string& from) {
  const std::size_t length = std::min(from.size(), kSize - 1);
  std::copy_n(from.data(), length, to);
  to[length] = '\0';
}

berth_status attach(const berth_session_options* options, berth_session* session) {
  if (session == nullptr) return fail(BERTH_INVALID, "session is null");
  *session = 0;
  berth_session_options read{};
  if (options != nullptr) {
    const auto given = read_sized(options, "options");
    if (!given.ok()) return fail(given.error());
    read = *given;
  }
  const auto handle = Handles::of_process().add(std::make_shared<Session>(say_of(read)));
  if (!handle.ok()) return fail(handle.error());
  *session = *handle;
  return BERTH_OK;
}

berth_status describe(berth_session session, berth_session_facts* facts) {
  const auto found = Handles::of_process().find<Session>(session);
  if (found == nullptr) return BERTH_STALE;
  if (const Status sized = check_sized(facts, "facts"); !sized.ok()) return fail(sized.error());
  berth_session_facts out{};
  if (found->has_lease()) out.flags |= BERTH_HAS_LEASE;
  if (found->has_driver()) out.flags |= BERTH_HAS_DRIVER;
  if (found->simulated()) out.flags |= BERTH_SIMULATED;
  out.lease = found->lease_number();
  out.device_count = static_cast<std::uint32_t>(found->device_count());
  write_sized(facts, out);
  return BERTH_OK;
}

berth_status no_device(std::uint32_t device, const Session& session) {
  return fail(BERTH_NOT_FOUND, "there is no device " + std::to_string(device) +
                                   ": this process sees " + std::to_string(session.device_count()));
}

berth_status describe_device(berth_session session, std::uint32_t device,
                             berth_device_facts* facts) {
  const auto found = Handles::of_process().find<Session>(session);
  if (found == nullptr) return BERTH_STALE;
  if (const Status sized = check_sized(facts, "facts"); !sized.ok()) return fail(sized.error());
  const SeenDevice* seen = found->device(device);
  if (seen == nullptr) return no_device(device, *found);
  berth_device_facts out{};
  out.driver_index = seen->driver_index;
  out.total_bytes = seen->total.value;
  copy_name(out.uuid, seen->uuid);
  copy_name(out.name, seen->name);
  write_sized(facts, out);
  return BERTH_OK;
}

berth_status measure(berth_session session, std::uint32_t device, std::uint64_t age_max_ns,
                     berth_measurement* measurement) {
  const auto found = Handles::of_process().find<Session>(session);
  if (found == nullptr) return BERTH_STALE;
  if (const Status sized = check_sized(measurement, "measurement"); !sized.ok()) {
    return fail(sized.error());
  }
  // Without any device all that is asked about one is unknown, and the host's memory is not.
  if (found->device_count() > 0 && found->device(device) == nullptr) {
    return no_device(device, *found);
  }
  constexpr auto kLongest = static_cast<std::uint64_t>(Duration::max().ns);
  const Duration age_max = {static_cast<std::int64_t>(std::min(age_max_ns, kLongest))};
  const Measured measured = found->measure(device, age_max);
  const Instant now = os::PosixClock().now();
  berth_measurement out{};
  out.device = device;
  out.device_total = to_c(measured.total, now);
  out.device_used = to_c(measured.used, now);
  out.device_free = to_c(measured.free, now);
  out.process_used = to_c(measured.own, now);
  out.lease_used = to_c(measured.lease_used, now);
  out.lease_budget = to_c(measured.budget, now);
  out.host_used = to_c(found->host_used(age_max), now);
  write_sized(measurement, out);
  return BERTH_OK;
}

}  // namespace
}  // namespace berth::library

using berth::library::guarded;

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
  return guarded([=] { return berth::library::attach(options, session); });
}

berth_status berth_detach(berth_session session) {
  return guarded([=] {
    return berth::library::Handles::of_process().close<berth::library::Session>(session);
  });
}

berth_status berth_session_describe(berth_session session, berth_session_facts* facts) {
  return guarded([=] { return berth::library::describe(session, facts); });
}

berth_status berth_device_describe(berth_session session, uint32_t device,
                                   berth_device_facts* facts) {
  return guarded([=] { return berth::library::describe_device(session, device, facts); });
}

berth_status berth_measure(berth_session session, uint32_t device, uint64_t age_max_ns,
                           berth_measurement* measurement) {
  return guarded([=] { return berth::library::measure(session, device, age_max_ns, measurement); });
}

}  // extern "C"
