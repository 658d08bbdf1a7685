// SPDX-License-Identifier: Apache-2.0
#include "cli/run/start_time.h"

#include <ctime>
#include <optional>
#include <string>

#include "base/quantity.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kMsPerSecond = 1000;

std::optional<std::tm> read(const std::string& text, const char* form, std::tm fields) {
  const char* end = ::strptime(text.c_str(), form, &fields);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return fields;
}

std::optional<std::tm> read_date(const std::string& text) {
  for (const char* form :
       {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"}) {
    if (const auto fields = read(text, form, {})) return fields;
  }
  return std::nullopt;
}

// strptime() takes the 31st of each month, and mktime() makes another day of it.
std::optional<UnixMs> moment_of(std::tm fields, std::time_t (*convert)(std::tm*)) {
  const int day = fields.tm_mday;
  fields.tm_isdst = -1;
  const std::time_t seconds = convert(&fields);
  if (seconds == -1 || fields.tm_mday != day) return std::nullopt;
  return UnixMs{static_cast<std::int64_t>(seconds) * kMsPerSecond};
}

// Today, or tomorrow where that is over: by the calendar, for not each day has 24 hours.
std::optional<UnixMs> next_time(const std::string& text, UnixMs now) {
  const std::time_t seconds = static_cast<std::time_t>(now.value / kMsPerSecond);
  std::tm today{};
  if (::localtime_r(&seconds, &today) == nullptr) return std::nullopt;
  today.tm_sec = 0;
  auto fields = read(text, "%H:%M:%S", today);
  if (!fields) fields = read(text, "%H:%M", today);
  if (!fields) return std::nullopt;
  std::optional<UnixMs> when = moment_of(*fields, &std::mktime);
  if (when && *when > now) return when;
  fields->tm_mday += 1;
  fields->tm_isdst = -1;
  const std::time_t tomorrow = std::mktime(&*fields);
  return UnixMs{static_cast<std::int64_t>(tomorrow) * kMsPerSecond};
}

}  // namespace

Result<UnixMs> parse_start_time(std::string_view text, UnixMs now) {
  const std::string words(text);
  if (words == "now") return now;
  if (const Result<Duration> later = parse_duration(text); later.ok()) {
    if (later->ns > 0) return UnixMs{now.value + later->ns / milliseconds(1).ns};
  } else if (const auto when = next_time(words, now)) {
    return *when;
  } else if (const auto fields = read_date(words)) {
    if (const auto here = moment_of(*fields, &std::mktime)) return *here;
  } else if (words.ends_with('Z')) {
    const auto utc = read_date(words.substr(0, words.size() - 1));
    const auto there = utc ? moment_of(*utc, &::timegm) : std::nullopt;
    if (there) return *there;
  }
  return Error{Errc::kInvalid, "'" + words +
                                   "' is no time to start at: 90m (from now), 18:30, now, "
                                   "2026-02-07T18:30, or that in UTC with a Z"};
}

}  // namespace berth::cli
