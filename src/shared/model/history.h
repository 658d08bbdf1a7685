// SPDX-License-Identifier: Apache-2.0
// Figures of the past: whose they are, how they stood in a span of time, and what became of a
// lease. A figure that was unknown has no bucket; it is never 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/lease.h"

namespace berth::history {

/// Their numbers are stored: they stay.
enum class Figure : std::uint8_t { kUsed = 0, kGranted = 1, kUnmanaged = 2, kUtilization = 3 };
constexpr auto words_of(Figure) {
  using enum Figure;
  return make_words<Figure>({{kUsed, "used"},
                             {kGranted, "granted"},
                             {kUnmanaged, "unmanaged", "external"},
                             {kUtilization, "utilization"}});
}
inline constexpr Figure kLastFigure = Figure::kUtilization;
/// Its values are percent, not bytes.
constexpr bool is_share(Figure figure) {
  return figure == Figure::kUtilization;
}

/// A device; of it what one lease has; of that, or of no lease's, what one process has.
enum class Kind : std::uint8_t { kDevice, kLease, kProcess };
constexpr auto words_of(Kind) {
  using enum Kind;
  return make_words<Kind>({{kDevice, "device"}, {kLease, "lease"}, {kProcess, "process"}});
}

struct Subject {
  DeviceId device;
  LeaseId lease;    // 0: of the device itself, or of a process without a lease.
  Process process;  // Pid 0: of no process.
  Figure figure = Figure::kUsed;
  friend constexpr auto operator<=>(const Subject&, const Subject&) = default;
};
constexpr Kind kind_of(const Subject& subject) {
  if (subject.process.pid != 0) return Kind::kProcess;
  return subject.lease == LeaseId{} ? Kind::kDevice : Kind::kLease;
}

/// A figure at one moment, and what the subject is called.
struct Reading {
  Subject subject;
  Bytes value;  // Or percent: is_share().
  std::string name;
  UserId user;
};

/// A figure in a stretch of time that begins at a whole second since 1970.
struct Bucket {
  std::int64_t start = 0;
  std::uint32_t known = 1;  // Of so many of its seconds.
  Bytes least;
  Bytes most;
  std::uint64_t total = 0;  // Bytes times seconds.
  friend constexpr auto operator<=>(const Bucket&, const Bucket&) = default;

  Bytes mean() const { return {known == 0 ? 0 : total / known}; }
};

/// One subject's buckets, oldest first.
struct Series {
  Subject subject;
  std::string name;
  UserId user;
  std::vector<Bucket> buckets = {};
};

/// What became of a lease that had devices.
struct Session {
  LeaseId id;
  UserId user;
  std::string name;
  std::string session;
  Share share = Share::kBudget;
  std::uint32_t devices = 0;
  Bytes granted;  // On all its devices together, at last.
  UnixMs queued;
  UnixMs started;
  std::optional<UnixMs> ended;
  std::optional<EndResult> result;
  std::optional<Bytes> peak;  // On all its devices together.
  // While its use was known, on all its devices together.
  std::uint64_t known_ms = 0;
  std::uint64_t used_mib_ms = 0;
  std::uint64_t unused_mib_ms = 0;  // Granted beyond that.
};
constexpr auto fields_of(Is<Session> auto*) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 1'000;
  const auto held = [](const Session& session, const auto& extras) {
    const std::int64_t end = session.ended.value_or(extras.now).value;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(end - session.started.value, 0));
  };
  const auto while_known = [](const Session& session, std::uint64_t mib_ms) {
    return session.known_ms == 0 ? std::nullopt : std::optional(mib_ms / 1'000);
  };
  return fields(
      {"PastSession"}, field("id", &Session::id, "Of the lease."), field("name", &Session::name),
      field("user", &Session::user), field("session", &Session::session, "Who worked."),
      field("share", &Session::share), field("device_count", &Session::devices),
      field("queued", &Session::queued), field("started", &Session::started),
      field("ended", &Session::ended, "Null: it has not, as far as was written down."),
      field("result", &Session::result, "Null until it has ended."),
      computed("wait_ms", "From the request to the grant.",
               [](const Session& session) {
                 const std::int64_t waited = session.started.value - session.queued.value;
                 return static_cast<std::uint64_t>(std::max<std::int64_t>(waited, 0));
               }),
      computed("held_ms", "Until it ended, or now.", held),
      computed("gpu_ms", "The same times its devices.",
               [=](const Session& session, const auto& extras) {
                 return held(session, extras) * session.devices;
               }),
      field("vram_granted", &Session::granted, "On all its devices together, at last."),
      field("vram_peak", &Session::peak, "On all its devices together."),
      field("known_ms", &Session::known_ms, "For so much of the time its use is known."),
      computed(
          "vram_used_mib_seconds", "In the time that is known. Null: none is.",
          [=](const Session& session) { return while_known(session, session.used_mib_ms); },
          [](Session& session, std::uint64_t used) { session.used_mib_ms = used * 1'000; })
          .to(kMost),
      computed(
          "vram_unused_mib_seconds", "Granted and not used, in the time that is known.",
          [=](const Session& session) { return while_known(session, session.unused_mib_ms); },
          [](Session& session, std::uint64_t left) { session.unused_mib_ms = left * 1'000; })
          .to(kMost));
}

/// How long figures are kept in each grain, and how much room they may take together.
struct Retention {
  Duration second;
  Duration minute;
  Duration hour;
  Bytes size_max;
};

/// What is asked of the past.
struct Question {
  UnixMs since;
  UnixMs until;
  Duration step;                   // 0: as the time asked for suggests.
  std::optional<Kind> kind;        // Absent: all.
  std::optional<DeviceId> device;  // Absent: all.
  std::optional<LeaseId> lease;    // Absent: all.
};

struct Past {
  Duration step;  // As it became: not finer than what is kept of that time.
  std::vector<Series> series;
  bool cut = false;  // There was more than fits into an answer.
};

}  // namespace berth::history
