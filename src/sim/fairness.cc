// SPDX-License-Identifier: Apache-2.0
#include "sim/fairness.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <variant>

namespace berth::sim {
namespace {

constexpr double kHalfLife = 3'600;
constexpr double kForgotten = std::numbers::ln2 / kHalfLife;  // In a second, of what was had.
constexpr double kGrantCounts = 60;                           // Seconds of its bytes.
constexpr std::size_t kSessionsToldApart = 64;
constexpr double kWholeDevice = 64.0 * 1024 * 1024 * 1024;
constexpr double kRounding = 1e-6;

double seconds_of(Duration time) {
  return static_cast<double>(time.ns) * 1e-9;
}

bool is_charged(const ReferenceLease& lease) {
  return lease.holds() && !lease.is_away(ReferenceLease::Away::kSuspended);
}

/// Whose turn it is may have changed within the last second, in which nobody looked. `drift`: how
/// far apart two shares may come in a second.
bool comes_before(double share, double least, double drift) {
  return share <= least + drift * 1.5 + kRounding * (share + least) + 1;
}

}  // namespace

void Fairness::Use::advance(double seconds) {
  const double kept = std::exp2(-seconds / kHalfLife);
  had = had * kept + held * (1 - kept) / kForgotten;
}

double Fairness::Use::counts() const {
  return had + held * kGrantCounts;
}

void Fairness::User::advance(double seconds) {
  all.advance(seconds);
  for (auto& [name, use] : sessions) use.advance(seconds);
}

void Fairness::note_held(const ReferenceModel& journal, Users& users) {
  for (auto& [id, user] : users) {
    user.all.held = 0;
    for (auto& [name, use] : user.sessions) use.held = 0;
  }
  for (const auto& [id, lease] : journal.leases()) {
    if (!is_charged(lease)) continue;
    User& user = users[lease.user];
    for (const Part& part : lease.parts) {
      const auto bytes = static_cast<double>(part.budget.value);
      user.all.held += bytes;
      if (!user.many) user.sessions[lease.request.session].held += bytes;
    }
    if (user.sessions.size() <= kSessionsToldApart) continue;
    user.many = true;
    user.sessions.clear();
  }
}

void Fairness::advance(const ReferenceModel& journal, Instant to) {
  note_held(journal, users_);
  if (!std::exchange(rebooted_, false)) {
    const double seconds = seconds_of(to - at_);
    for (auto& [id, user] : users_) user.advance(std::max(seconds, 0.0));
  }
  at_ = to;
}

void Fairness::begin_anew(const std::vector<Record>& snapshot, const ReferenceModel& journal) {
  at_ = snapshot.back().at;
  rebooted_ = false;
  users_.clear();
  note_held(journal, users_);
  for (const Record& record : snapshot) {
    const auto* fact = std::get_if<UsageRestored>(&record.fact);
    if (fact == nullptr) continue;
    User& user = users_[fact->user];
    Use& use = user.sessions[fact->session];
    use.had = fact->byte_seconds;
    use.advance(std::max(seconds_of(at_ - fact->at), 0.0));
    user.all.had += use.had;
  }
  for (auto& [id, user] : users_) user.many |= user.sessions.size() >= kSessionsToldApart;
}

std::string Fairness::check_order(const Observations& observations,
                                  const std::vector<LeaseId>& queue, Instant now) const {
  if (observations.settings.order != Order::kFair || rebooted_) return {};
  std::vector<Wanted> wanted;
  for (const LeaseId id : queue) {
    const ReferenceLease* lease = observations.journal.find(id);
    if (lease == nullptr || lease->state != ReferenceLease::State::kWaiting) return {};
    // Who has waited for too long comes before everybody.
    if (lease->queued_at() + observations.settings.starve_after <= now + seconds(1)) return {};
    const bool whole = lease->request.share == Share::kExclusive;
    const double bytes = whole ? kWholeDevice : static_cast<double>(lease->request.vram.value);
    wanted.push_back({lease->user, lease->request.session, bytes * kGrantCounts});
  }
  Users users = users_;
  note_held(observations.journal, users);
  for (auto& [id, user] : users) user.advance(std::max(seconds_of(now - at_), 0.0));
  return check_turns(std::move(users), wanted);
}

// As if each were granted: at its turn nobody else who waits has had less.
std::string Fairness::check_turns(Users users, const std::vector<Wanted>& queue) {
  std::map<UserId, double> shares;
  std::map<std::pair<UserId, std::string>, double> of_sessions;
  std::map<std::pair<UserId, std::string>, std::size_t> left;
  // What is held adds to one share; what was had is forgotten, and what a grant counts is not.
  double held = 0;
  double most_had = 0;
  for (const auto& [id, user] : users) {
    held += user.all.held;
    most_had = std::max(most_had, user.all.had);
  }
  const double drift = held + most_had * kForgotten;
  for (const Wanted& one : queue) {
    User& user = users[one.user];
    shares[one.user] = user.all.counts();
    of_sessions[{one.user, one.session}] = user.sessions[one.session].counts();
    ++left[{one.user, one.session}];
  }
  for (const Wanted& next : queue) {
    double& share = shares.at(next.user);
    double& of_session = of_sessions.at({next.user, next.session});
    for (const auto& [key, count] : left) {
      const auto& [user, session] = key;
      if (!comes_before(share, shares.at(user), drift)) {
        return fmt::format("user {} is before user {} in the queue, who has had less: {} and {}",
                           next.user.value, user.value, share, shares.at(user));
      }
      const double other = of_sessions.at(key);
      const bool is_turn =
          user != next.user || users.at(user).many || comes_before(of_session, other, drift);
      if (!is_turn) {
        return fmt::format("session '{}' of user {} is before '{}', which has had less: {} and {}",
                           next.session, user.value, session, of_session, other);
      }
    }
    share += next.counts;
    of_session += next.counts;
    if (--left.at({next.user, next.session}) == 0) left.erase({next.user, next.session});
  }
  return {};
}

}  // namespace berth::sim
