// SPDX-License-Identifier: Apache-2.0
#include "wire/history.h"

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/fields.h"
#include "wire/iso_time.h"

namespace berth::wire {
namespace {

using history::Bucket;
using history::Series;

constexpr std::int64_t kNsPerMs = milliseconds(1).ns;
constexpr Duration kStepMax = hours(24);

Error wrong_parameter(std::string_view key, std::string_view why) {
  std::string message = "'";
  message.append(key).append("' ").append(why);
  return {Errc::kInvalid, std::move(message)};
}

// A day, or a moment of it, in UTC; what is left out at the end is 0.
std::optional<UnixMs> written_out(std::string_view text) {
  constexpr std::string_view kForm = "2026-02-07T00:00:00.000Z";
  if (text.ends_with('Z')) text.remove_suffix(1);
  for (const std::size_t length : {10U, 16U, 19U, 23U}) {
    if (text.size() != length) continue;
    return parse_time(std::string(text).append(kForm.substr(length)));
  }
  return std::nullopt;
}

// "1h": so long before now.
Result<UnixMs> moment(std::string_view key, std::string_view text, UnixMs now) {
  if (const auto time = written_out(text)) return *time;
  const Result<Duration> ago = parse_duration(text);
  if (!ago.ok()) {
    return wrong_parameter(key,
                           "takes an age (90m, 7d), or a time in UTC "
                           "(2026-02-07, 2026-02-07T13:15Z), not '" +
                               shown(text) + "'");
  }
  return UnixMs{now.value - ago->ns / kNsPerMs};
}

Status take_part(PastQuery& query, const std::string& key, const std::string& value, UnixMs now) {
  if (key == "device") {
    query.device = value;
  } else if (key == "lease") {
    query.lease = value;
  } else if (key == "user") {
    query.user = value;
  } else if (key == "of") {
    query.kind = parse_word<history::Kind>(value);
    if (!query.kind) return wrong_parameter(key, "must be device, lease or process");
  } else if (key == "since") {
    TRY(since, moment(key, value, now));
    query.since = since;
  } else if (key == "until") {
    TRY(until, moment(key, value, now));
    query.until = until;
  } else if (key == "step") {
    const Result<Duration> step = parse_duration(value);
    if (!step.ok() || *step < seconds(1) || *step > kStepMax) {
      return wrong_parameter(key, "must be a duration from 1s to 1d");
    }
    query.step = *step;
  } else {
    std::string message = "the query parameter '";
    return Error{Errc::kNotFound, message.append(key).append("' is not known here")};
  }
  return Unit{};
}

}  // namespace

Result<PastQuery> decode_past_query(const QueryParts& parts, UnixMs now, Duration since_default) {
  PastQuery query{.since = {now.value - since_default.ns / kNsPerMs}, .until = now};
  for (const auto& [key, value] : parts) TRY_STATUS(take_part(query, key, value, now));
  if (query.since > query.until) return wrong_parameter("since", "is later than 'until'");
  return query;
}

std::vector<PastPoint> points_of(const PastAnswer& answer) {
  std::vector<PastPoint> points;
  for (const Series& series : answer.past.series) {
    const history::Subject& subject = series.subject;
    const auto index = answer.facts.indices.find(subject.device);
    PastPoint point{.device = subject.device, .name = series.name, .figure = subject.figure};
    if (index != answer.facts.indices.end()) point.index = index->second;
    if (subject.lease != LeaseId{}) point.lease = subject.lease;
    if (subject.process.pid != 0) point.pid = subject.process.pid;
    if (history::kind_of(subject) != history::Kind::kDevice) point.user = series.user;
    for (const Bucket& bucket : series.buckets) {
      point.time = UnixMs{bucket.start * 1'000};
      point.known = seconds(bucket.known);
      point.least = bucket.least.value;
      point.mean = bucket.mean().value;
      point.most = bucket.most.value;
      points.push_back(point);
    }
  }
  return points;
}

void take_points(PastAnswer& answer, std::vector<PastPoint> points) {
  std::vector<Series>& all = answer.past.series;
  for (PastPoint& point : points) {
    if (point.index) answer.facts.indices.emplace(point.device, *point.index);
    const history::Subject subject{.device = point.device,
                                   .lease = point.lease.value_or(LeaseId{}),
                                   .process = {.pid = point.pid.value_or(0)},
                                   .figure = point.figure};
    if (all.empty() || all.back().subject != subject) {
      all.push_back({subject, std::move(point.name), point.user.value_or(UserId{})});
    }
    const std::int64_t known = std::clamp<std::int64_t>(point.known.ns / seconds(1).ns, 0,
                                                        static_cast<std::int64_t>(kMax32));
    Bucket bucket{.start = point.time.value / 1'000,
                  .known = static_cast<std::uint32_t>(known),
                  .least = {point.least},
                  .most = {point.most}};
    bucket.total = point.mean * bucket.known;
    all.back().buckets.push_back(bucket);
  }
}

std::string encode_past(const PastAnswer& answer) {
  return answer_text(answer, answer.facts.names);
}

Result<PastAnswer> decode_past(std::string_view text) {
  UserNames names;
  TRY(answer, read_answer<PastAnswer>(text, names));
  answer.facts.names = std::move(names);
  return answer;
}

std::string encode_sessions(const SessionsAnswer& answer) {
  return answer_text(answer, answer.facts.names, {.now = answer.facts.time});
}

Result<SessionsAnswer> decode_sessions(std::string_view text) {
  UserNames names;
  TRY(answer, read_answer<SessionsAnswer>(text, names));
  answer.facts.names = std::move(names);
  return answer;
}

}  // namespace berth::wire
