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

/// GET /v1/history
std::string encode_past(const history::Past& past, const PastFacts& facts);
struct PastAnswer {
  history::Past past;
  PastFacts facts;
};
Result<PastAnswer> decode_past(std::string_view text);

/// GET /v1/history/sessions
std::string encode_sessions(const std::vector<history::Session>& sessions, const PastFacts& facts);
struct SessionsAnswer {
  std::vector<history::Session> sessions;
  PastFacts facts;
};
Result<SessionsAnswer> decode_sessions(std::string_view text);

}  // namespace berth::wire
