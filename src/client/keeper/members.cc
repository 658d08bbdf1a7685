// SPDX-License-Identifier: Apache-2.0
// Members of a set: asked for one after the other, each when the one before has been started, so
// that of a set one waits at a time. From then on each is a job like any other.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/checked.h"
#include "client/keeping.h"
#include "jobs/sweep.h"
#include "keeper/keeper.h"
#include "model/set_member.h"
#include "wire/answers.h"
#include "wire/request.h"

namespace berth::keeper {
namespace {

constexpr Duration kAnswerWithin = seconds(10);
constexpr Duration kAskAgainAfter = seconds(1);
constexpr std::size_t kNameMax = 64;
constexpr std::uint64_t kMost = UINT32_MAX;

std::string name_of(const std::string& set, std::uint32_t number) {
  const std::string suffix = "." + std::to_string(number);
  return set.empty() || set.size() + suffix.size() > kNameMax ? "" : set + suffix;
}

// It had its number when it was written, and has what was asked for the set but for that.
RequestBody body_of(const RequestBody& set, LeaseId id, std::uint32_t number) {
  RequestBody body = set;
  body.request.members = 0;
  body.request.after.clear();
  body.request.not_before.reset();
  body.request.member = SetMember{id, number};
  body.request.name = name_of(set.request.name, number);
  return body;
}

}  // namespace

Status Keeper::read_members(Tended& set) const {
  Members members;
  TRY(lines, set.folder.lines(set.job.id));
  TRY(arguments, set.folder.arguments(set.job.id));
  TRY(environment, set.folder.environment(set.job.id));
  TRY(text, set.folder.request(set.job.id));
  TRY(request, wire::decode<RequestBody>(text));
  if (lines.size() != set.job.members) {
    return Error{Errc::kCorrupt, "it has " + std::to_string(lines.size()) + " members, and not " +
                                     std::to_string(set.job.members)};
  }
  members.lines = std::move(lines);
  members.arguments = std::move(arguments);
  members.environment = std::move(environment);
  members.request = std::move(request);
  set.members = std::move(members);
  return Unit{};
}

Keeper::Count Keeper::count_members(LeaseId set) const {
  Count count;
  for (auto at = jobs_.lower_bound({set, {}}); at != jobs_.end() && at->first.first == set; ++at) {
    if (at->second.over) continue;
    ++count.live;
    if (!at->second.starter && !at->second.sight.ended) ++count.waiting;
  }
  return count;
}

// A file that was cut off, by a full disk say, is no reason for the set never to end: what it was
// is asked of the daemon, and written anew.
void Keeper::take_up_members(Tended& set) {
  Members& members = checked(set.members);
  const jobs::JobFolder folder = set.folder.members_of(set.job.id);
  for (const LeaseId id : folder.list()) {
    const auto number = static_cast<std::uint32_t>(std::min(id.value, kMost));
    if (number > set.job.members) break;
    members.next = number + 1;
    if (folder.result(id)) continue;
    const Result<jobs::Job> job = folder.read(id);
    if (!job.ok() && job.error().code != Errc::kVersion && folder.set_aside(id).ok()) {
      complain("job " + folder.name_of(id) + " is written anew: " + job.error().message);
      members.again.push_back(number);
    } else {
      take_up(folder, {set.job.id, id});
    }
  }
}

Instant Keeper::next_member_at(const Tended& tended) const {
  if (tended.over || !tended.members || !tended.sight.lease) return Instant::never();
  const Members& members = *tended.members;
  const LeaseView& set = *tended.sight.lease;
  const bool is_left = !members.again.empty() || members.next <= tended.job.members;
  const bool waits = set.state == LeaseState::kWaiting;  // On hold, its members are not granted.
  if (!is_left || !waits) return Instant::never();
  const Count count = count_members(tended.job.id);
  // What one asks for that is to be learnt is known when one has ended.
  const bool is_first = count.live > 0 && count.live + 1 == members.next;
  const bool has_room = tended.job.running_max == 0 || count.live < tended.job.running_max;
  const bool may = count.waiting == 0 && has_room && !(is_first && members.request.request.learned);
  return may ? members.not_before : Instant::never();
}

void Keeper::begin_member(LeaseId id, Instant now) {
  Tended& set = jobs_.at({{}, id});
  Members& members = checked(set.members);
  const bool is_again = !members.again.empty();
  const std::uint32_t number = is_again ? members.again.back() : members.next;
  const Result<LeaseView> lease = find_or_ask_for(set, number, now);
  if (!lease.ok()) {
    members.not_before = now + kAskAgainAfter;
    complain("job " + to_text(SetMember{id, number}) + ": " + lease.error().message);
    return;
  }
  const std::string& line = members.lines[number - 1];
  const Result<jobs::Parameters> parameters = jobs::parameters_of(line);
  jobs::JobFolder::Content content;
  for (const std::string& word : members.arguments) {
    content.arguments.push_back(parameters.ok() ? jobs::filled_in(word, *parameters) : word);
  }
  content.environment = members.environment;
  const std::vector<std::string> variables =
      jobs::variables_of(line, parameters.ok() ? *parameters : jobs::Parameters{}, number);
  content.environment.insert(content.environment.end(), variables.begin(), variables.end());
  if (set.job.seed && parameters.ok()) {
    content.environment.push_back("BERTH_SEED=" +
                                  std::to_string(jobs::seed_of(*set.job.seed, *parameters)));
  }
  const jobs::JobFolder folder = set.folder.members_of(id);
  Status added = folder.has({number}) ? Status(Unit{})
                                      : folder.add({.id = {number},
                                                    .handle = lease->handle,
                                                    .directory = set.job.directory,
                                                    .umask = set.job.umask,
                                                    .submitted = lease->queued_at,
                                                    .log = set.job.log},
                                                   content);
  if (added.ok()) added = folder.sync({number});
  if (!added.ok()) {
    members.may_be_there = true;
    members.not_before = now + kAskAgainAfter;
    complain("job " + to_text(SetMember{id, number}) + ": " + added.error().message);
    return;
  }
  if (is_again) {
    members.again.pop_back();
  } else {
    ++members.next;
  }
  take_up(folder, {id, {number}});
}

// One that was asked for and not written down is found again by its number.
Result<LeaseView> Keeper::find_or_ask_for(Tended& set, std::uint32_t number, Instant now) {
  Members& members = checked(set.members);
  client::Client* client = daemon(now);
  if (client == nullptr) return Error{Errc::kUnavailable, "there is no daemon"};
  if (members.may_be_there || !members.again.empty()) {
    const std::string reference = to_text(SetMember{set.job.id, number});
    const auto answer =
        client->connection().ask({.route = wire::Route::kLease, .lease = reference});
    if (!answer.ok()) client_.reset();
    if (!answer.ok()) return answer.error();
    if (answer->ok()) {
      TRY(lease, wire::decode_lease(answer->body));
      return std::move(lease.view);
    }
    members.may_be_there = false;
  }
  Result<LeaseView> lease = ask_for_member(set, number);
  members.may_be_there = !lease.ok();  // It may have been heard all the same.
  return lease;
}

Result<LeaseView> Keeper::ask_for_member(const Tended& set, std::uint32_t number) {
  const Members& members = checked(set.members);
  TRY(asking, checked(client_).another());
  TRY_STATUS(asking.send(
      {.route = wire::Route::kSubmit, .body = body_of(members.request, set.job.id, number)}));
  TRY(arrival, asking.wait(kAnswerWithin));
  return client::lease_in(arrival);
}

}  // namespace berth::keeper
