// SPDX-License-Identifier: Apache-2.0
#include "server/past_question.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/number.h"

namespace berth::server {
namespace {

using wire::ApiError;

constexpr Duration kPastDefault = hours(1);
constexpr Duration kSessionsDefault = hours(std::int64_t{24} * 7);

std::optional<UserId> user_called(const std::string& text, const wire::UserNames& names) {
  for (const auto& [user, name] : names) {
    if (name == text) return user;
  }
  const auto number = parse_number<std::uint32_t>(text);
  return number ? std::optional(UserId{*number}) : std::nullopt;
}

}  // namespace

std::variant<HistoryAsk, ApiError> past_question(const wire::RouteMatch& route,
                                                 const core::Coordinator& coordinator,
                                                 core::Actor actor, core::Now now,
                                                 const wire::UserNames& names) {
  const bool audit = route.route == wire::Route::kAudit;
  const bool sessions = route.route == wire::Route::kSessions || audit;
  const Result<wire::PastQuery> query =
      wire::decode_past_query(route.query, now.wall, sessions ? kSessionsDefault : kPastDefault);
  if (!query.ok()) return wire::to_api_error(query.error());
  if (sessions && (query->kind || !query->device.empty() || query->step != Duration{})) {
    return wire::to_api_error(
        Error{Errc::kInvalid,
              "what became of leases, and what was done to them, is told by 'since', 'until' and "
              "'lease', and not by "
              "'device', 'of' or 'step'"});
  }
  if (!audit && !query->user.empty()) {
    return wire::to_api_error(
        Error{Errc::kNotFound, "the query parameter 'user' is known to /v1/history/events alone"});
  }
  HistoryAsk ask{
      .user = actor.user,
      .what = audit      ? HistoryAsk::What::kAudit
              : sessions ? HistoryAsk::What::kSessions
                         : HistoryAsk::What::kPast,
      .question = {.since = query->since,
                   .until = query->until,
                   .step = query->step,
                   .kind = query->kind},
      .facts = {.time = now.wall, .since = query->since, .until = query->until, .names = names}};
  for (const DeviceView& device : coordinator.devices(now)) {
    ask.facts.indices.emplace(device.id, device.index);
  }
  if (!query->device.empty()) {
    ask.question.device = parse_device_id(query->device);
    const auto index = parse_number<std::uint32_t>(query->device);
    const auto found = std::ranges::find_if(
        ask.facts.indices, [&](const auto& entry) { return index && entry.second == *index; });
    if (found != ask.facts.indices.end()) ask.question.device = found->first;
    if (!ask.question.device) {
      return wire::error_of(RefusalCode::kNoDevice, "there is no GPU '" + query->device + "' here");
    }
  }
  if (!query->user.empty()) {
    ask.of_user = user_called(query->user, names);
    if (!ask.of_user) {
      return wire::error_of(RefusalCode::kNotFound,
                            "nobody called '" + query->user +
                                "' has asked this daemon for anything: name a user by number");
    }
  }
  if (query->lease.empty()) return ask;
  // The past knows leases that nobody else remembers: those by their number alone.
  if (const auto id = parse_number<std::uint64_t>(query->lease)) {
    ask.question.lease = LeaseId{*id};
    return ask;
  }
  const auto found = coordinator.find(query->lease, actor);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return wire::to_api_error(*refusal);
  ask.question.lease = std::get<LeaseId>(found);
  return ask;
}

std::variant<std::string, wire::ApiError> past_answer(const Result<std::string>& body) {
  if (body.ok()) return *body;
  const bool busy = body.error().code == Errc::kConflict;
  return wire::error_of(busy ? RefusalCode::kBusy : RefusalCode::kNotFound, body.error().message);
}

}  // namespace berth::server
