// SPDX-License-Identifier: Apache-2.0
#include "wire/history.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/quantity.h"
#include "wire/field_reader.h"
#include "wire/field_writer.h"
#include "wire/fields.h"
#include "wire/iso_time.h"
#include "wire/json_reader.h"

namespace berth::wire {
namespace {

using history::Bucket;
using history::Series;
using history::Session;

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
                           "(2026-02-07, 2026-02-07T13:15Z)");
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

void write_facts(JsonWriter& writer, std::string_view schema, const PastFacts& facts) {
  writer.begin_object().key("schema").text(schema).key("time").time(facts.time);
  writer.key("since").time(facts.since).key("until").time(facts.until);
}

void write_who(JsonWriter& writer, UserId user, const UserNames& names) {
  const auto name = names.find(user);
  writer.key("user").text_or_null(name == names.end() ? "" : name->second);
  writer.key("user_id").number(user.value);
}

void write_point(JsonWriter& writer, const Series& series, const Bucket& bucket,
                 const PastFacts& facts) {
  const history::Subject& subject = series.subject;
  const history::Kind kind = history::kind_of(subject);
  writer.begin_object().key("time").time(UnixMs{bucket.start * 1'000});
  writer.key("of").text(to_text(kind));
  writer.key("uuid").text(to_text(subject.device));
  const auto index = facts.indices.find(subject.device);
  writer.key("index");
  index == facts.indices.end() ? writer.null() : writer.number(index->second);
  writer.key("lease");
  subject.lease == LeaseId{} ? writer.null() : writer.number(subject.lease.value);
  writer.key("pid");
  kind == history::Kind::kProcess ? writer.integer(subject.process.pid) : writer.null();
  writer.key("name").text_or_null(series.name);
  if (kind == history::Kind::kDevice) {
    writer.key("user").null().key("user_id").null();
  } else {
    write_who(writer, series.user, facts.names);
  }
  writer.key("figure").text(to_text(subject.figure));
  writer.key("known_ms").milliseconds(seconds(bucket.known));
  writer.key("vram_min_bytes").bytes(bucket.least);
  writer.key("vram_mean_bytes").bytes(bucket.mean());
  writer.key("vram_max_bytes").bytes(bucket.most).end_object();
}

void read_facts(ObjectReader& reader, PastFacts& facts) {
  reader.time("time", facts.time);
  reader.time("since", facts.since);
  reader.time("until", facts.until);
}

UserId read_who(ObjectReader& item, UserNames& names) {
  UserId user;
  std::string name;
  item.number("user_id", user.value, {0, kMax32});
  item.text("user", name);
  if (!name.empty()) names.emplace(user, std::move(name));
  return user;
}

void read_point(ObjectReader& item, PastAnswer& answer) {
  Series series;
  history::Subject& subject = series.subject;
  subject.device = read_device_id(item, "uuid");
  std::uint32_t index = 0;
  item.number("index", index, {0, kMax32});
  if (item.has("index")) answer.facts.indices.emplace(subject.device, index);
  subject.lease = {item.number("lease", kAny).value_or(0)};
  item.integer("pid", subject.process.pid);
  item.text("name", series.name);
  series.user = read_who(item, answer.facts.names);
  item.word("figure", subject.figure);
  UnixMs at;
  item.time("time", at);
  Duration known;
  item.milliseconds("known_ms", known);
  Bytes mean;
  Bucket bucket{.start = at.value / 1'000,
                .known = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                    known.ns / seconds(1).ns, 0, static_cast<std::int64_t>(kMax32)))};
  item.bytes("vram_min_bytes", bucket.least);
  item.bytes("vram_mean_bytes", mean);
  item.bytes("vram_max_bytes", bucket.most);
  bucket.total = mean.value * bucket.known;
  std::vector<Series>& all = answer.past.series;
  if (all.empty() || all.back().subject != subject) all.push_back(std::move(series));
  all.back().buckets.push_back(bucket);
}

}  // namespace

Result<PastQuery> decode_past_query(const QueryParts& parts, UnixMs now, Duration since_default) {
  PastQuery query{.since = {now.value - since_default.ns / kNsPerMs}, .until = now};
  for (const auto& [key, value] : parts) TRY_STATUS(take_part(query, key, value, now));
  if (query.since > query.until) return wrong_parameter("since", "is later than 'until'");
  return query;
}

std::string encode_past(const history::Past& past, const PastFacts& facts) {
  JsonWriter writer;
  write_facts(writer, "berth/history/v1", facts);
  writer.key("step_ms").milliseconds(past.step);
  writer.key("cut").boolean(past.cut);
  writer.key("items").begin_array();
  for (const Series& series : past.series) {
    for (const Bucket& bucket : series.buckets) write_point(writer, series, bucket, facts);
  }
  writer.end_array().end_object();
  return writer.take();
}

Result<PastAnswer> decode_past(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  PastAnswer answer;
  read_facts(reader, answer.facts);
  reader.milliseconds("step_ms", answer.past.step);
  reader.boolean("cut", answer.past.cut);
  for (ObjectReader& item : reader.objects("items", kAnyCount)) read_point(item, answer);
  TRY_STATUS(document.status());
  return answer;
}

std::string encode_sessions(const std::vector<Session>& sessions, const PastFacts& facts) {
  JsonWriter writer;
  write_facts(writer, "berth/sessions/v1", facts);
  writer.key("items").begin_array();
  const Viewer viewer{.user = {}, .names = facts.names};
  for (const Session& session : sessions) {
    FieldWriter<side::kAnswer>(writer, viewer, {.now = facts.time}).object(session);
  }
  writer.end_array().end_object();
  return writer.take();
}

Result<SessionsAnswer> decode_sessions(std::string_view text) {
  JsonDocument document(text, kAnswer);
  ObjectReader reader = document.root();
  SessionsAnswer answer;
  read_facts(reader, answer.facts);
  FieldReader<side::kAnswer> sessions(answer.facts.names);
  for (ObjectReader& item : reader.objects("items", kAnyCount)) {
    sessions.object(item, answer.sessions.emplace_back());
  }
  TRY_STATUS(document.status());
  return answer;
}

}  // namespace berth::wire
