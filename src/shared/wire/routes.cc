// SPDX-License-Identifier: Apache-2.0
#include "wire/routes.h"

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/number.h"
#include "wire/url.h"

namespace berth::wire {
namespace {

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{');
}

// What stands for the parameter of `path`; absent: the segments are of another path.
std::optional<std::string> match_path(std::string_view path,
                                      const std::vector<std::string>& segments) {
  if (segments.empty()) return std::nullopt;
  std::string lease;
  path.remove_prefix(1);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::size_t end = path.find('/');
    const std::string_view expected = path.substr(0, end);
    if (is_parameter(expected)) {
      lease = segments[i];
    } else if (expected != segments[i]) {
      return std::nullopt;
    }
    const bool last_expected = end == std::string_view::npos;
    const bool last = i + 1 == segments.size();
    if (last_expected != last) return std::nullopt;
    if (!last) path.remove_prefix(end + 1);
  }
  return lease;
}

// Of kLeases. Absent: it was taken.
std::optional<ApiError> take_parameter(RouteMatch& match, const std::string& key,
                                       const std::string& value) {
  if (key == "limit") {
    match.limit = parse_number<std::uint32_t>(value);
    if (match.limit && *match.limit >= 1 && *match.limit <= kLeasePageMax) return std::nullopt;
    return error_of(code::kBadRequest, "the query parameter 'limit' must be a number from 1 to " +
                                           std::to_string(kLeasePageMax));
  }
  if (key == "before") {
    match.before = parse_number<std::uint64_t>(value);
    if (match.before) return std::nullopt;
    return error_of(code::kBadRequest,
                    "the query parameter 'before' must be the number of a lease");
  }
  if (value != "0" && value != "1" && value != "true" && value != "false") {
    return error_of(code::kBadRequest, "the query parameter 'all' must be 0 or 1");
  }
  match.all = value == "1" || value == "true";
  return std::nullopt;
}

std::variant<RouteMatch, ApiError> with_query(RouteMatch match, const Target& target) {
  std::set<std::string_view> seen;
  for (const auto& [key, value] : target.query) {
    if (seen.insert(key).second) continue;
    return error_of(code::kBadRequest, "the query parameter '" + key + "' is given twice");
  }
  const bool about_past = match.route == Route::kHistory || match.route == Route::kSessions ||
                          match.route == Route::kAudit;
  if (about_past) {
    match.query = target.query;
    return match;
  }
  for (const auto& [key, value] : target.query) {
    const bool known = key == "all" || key == "limit" || key == "before";
    if (match.route != Route::kLeases || !known) {
      return error_of(code::kUnknownField, "the query parameter '" + key + "' is not known here");
    }
    if (auto error = take_parameter(match, key, value)) return *std::move(error);
  }
  return match;
}

}  // namespace

std::variant<RouteMatch, ApiError> match_route(std::string_view method, std::string_view target) {
  const Result<Target> parsed = parse_target(target);
  if (!parsed.ok()) return to_api_error(parsed.error());
  std::optional<Method> other;
  for (const RouteRow& row : kRoutes) {
    std::optional<std::string> lease = match_path(row.path, parsed->segments);
    if (!lease) continue;
    if (to_text(row.method) == method) {
      return with_query({.route = row.route, .lease = *std::move(lease)}, *parsed);
    }
    other = row.method;
  }
  const std::string path(target.substr(0, target.find('?')));
  if (other) {
    return error_of(code::kMethodNotAllowed,
                    path + " is for " + std::string(to_text(*other)) + " requests");
  }
  return error_of(RefusalCode::kNotFound,
                  "there is nothing at " + path + "; GET /v1/openapi.json lists what there is");
}

std::string target_of(Route route, std::string_view lease) {
  const std::string_view path = row_of(route).path;
  const std::size_t open = path.find('{');
  if (open == std::string_view::npos) return std::string(path);
  CHECK(!lease.empty());
  return std::string(path.substr(0, open)) + percent_encode(lease) +
         std::string(path.substr(path.find('}') + 1));
}

}  // namespace berth::wire
