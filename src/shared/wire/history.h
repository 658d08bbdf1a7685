// SPDX-License-Identifier: Apache-2.0
// Questions about the past, and their answers: a flat list of points, each of which says whose it
// is, so that it is a table as well; and a report of each lease. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/history.h"
#include "wire/lease.h"

namespace berth::wire {

/// The query of GET /v1/history, …/sessions and …/events, as it was given.
struct PastQuery {
  std::string device;  // UUID or index; empty: all.
  std::string lease;   // As in a path; empty: all.
  std::string user;    // Name or number; empty: all.
  std::optional<history::Kind> kind;
  UnixMs since;
  UnixMs until;
  Duration step;  // 0: as the daemon likes.
};
using QueryParts = std::vector<std::pair<std::string, std::string>>;
/// Times are durations ("1h" ago) or written out. kNotFound: a parameter that nobody knows.
Result<PastQuery> decode_past_query(const QueryParts& parts, UnixMs now, Duration since_default);

/// What an answer says besides what was read.
struct PastFacts {
  UnixMs time;
  UnixMs since;
  UnixMs until;
  std::map<DeviceId, std::uint32_t> indices;  // Of the devices that are seen now.
  UserNames names;
};

constexpr auto fields_of(Is<PastFacts> auto*) {
  return fields({}, field("time", &PastFacts::time, "Of the answer."),
                field("since", &PastFacts::since, "Of the first step, or later."),
                field("until", &PastFacts::until, "Of the last one."));
}

/// A figure in one step.
struct PastPoint {
  UnixMs time;
  DeviceId device;
  std::optional<std::uint32_t> index;
  std::optional<LeaseId> lease;
  std::optional<std::int32_t> pid;
  std::string name;
  std::optional<UserId> user;
  history::Figure figure = history::Figure::kUsed;
  Duration known;
  // Bytes, or percent: is_share().
  std::uint64_t least = 0;
  std::uint64_t mean = 0;
  std::uint64_t most = 0;
};
constexpr auto fields_of(Is<PastPoint> auto*) {
  using Point = PastPoint;
  using Value = std::uint64_t Point::*;
  // Each value stands in the field of its unit, and the other one is null.
  const auto of_unit = [](std::string_view name, std::string_view doc, bool share, Value value) {
    return computed(
        name, doc,
        [=](const Point& point) {
          return is_share(point.figure) == share ? std::optional(point.*value) : std::nullopt;
        },
        [=](Point& point, std::uint64_t read) { point.*value = read; });
  };
  return fields(
      {"PastPoint", "A figure in one step."}, field("time", &Point::time, "When the step begins."),
      computed("of", "Whose figure it is.",
               [](const Point& point) {
                 if (point.pid) return history::Kind::kProcess;
                 return point.lease ? history::Kind::kLease : history::Kind::kDevice;
               }),
      field("uuid", &Point::device, "Of the device."),
      field("index", &Point::index, "Of the device now; null: it is not seen."),
      field("lease", &Point::lease, "Null: of no lease."),
      field("pid", &Point::pid, "Null: of no process."),
      field("name", &Point::name, "Of the lease or the process."),
      field("user", &Point::user, "Null: of a device, or without a name."),
      field("figure", &Point::figure,
            "Used; granted to leases; used by what holds no lease; or utilization: how long "
            "something was computed."),
      field("known", &Point::known, "For so much of the step the figure is known."),
      of_unit("vram_min_bytes", "The least of the step; null: the figure is a share.", false,
              &Point::least),
      of_unit("vram_mean_bytes", "Over the time that is known.", false, &Point::mean),
      of_unit("vram_max_bytes", "The most of the step.", false, &Point::most),
      of_unit("percent_min", "The same of a share; null: the figure is memory.", true,
              &Point::least),
      of_unit("percent_mean", "Over the time that is known.", true, &Point::mean),
      of_unit("percent_max", "The most of the step.", true, &Point::most));
}

/// GET /v1/history
struct PastAnswer {
  history::Past past;
  PastFacts facts;
};
std::vector<PastPoint> points_of(const PastAnswer& answer);
void take_points(PastAnswer& answer, std::vector<PastPoint> points);
constexpr auto fields_of(Is<PastAnswer> auto*) {
  using history::Past;
  return fields({"Past", "", "berth/history/v1"}, all_fields(&PastAnswer::facts),
                field("step", &PastAnswer::past, &Past::step, "What one point stands for."),
                field("cut", &PastAnswer::past, &Past::cut, "There was more than an answer holds."),
                computed("items", "Figure by figure, oldest first.", points_of, take_points));
}
std::string encode_past(const PastAnswer& answer);
Result<PastAnswer> decode_past(std::string_view text);

/// GET /v1/history/sessions
struct SessionsAnswer {
  std::vector<history::Session> sessions;
  PastFacts facts;
};
constexpr auto fields_of(Is<SessionsAnswer> auto*) {
  return fields({"Sessions", "", "berth/sessions/v1"}, all_fields(&SessionsAnswer::facts),
                field("items", &SessionsAnswer::sessions, "By id."));
}
std::string encode_sessions(const SessionsAnswer& answer);
Result<SessionsAnswer> decode_sessions(std::string_view text);

}  // namespace berth::wire
