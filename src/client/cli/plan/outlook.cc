// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/outlook.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.h"
#include "replay/forecast.h"

namespace berth::cli {
namespace {

using replay::Expected;
using replay::Prospect;

class Outlook {
 public:
  Outlook(const Present& present, const std::vector<UpStep>& steps,
          const std::vector<RequestBody>& requests, UserId user)
      : present_(present), steps_(steps), requests_(requests), user_(user) {}

  std::vector<OutlookRow> look(const core::Settings& settings) {
    for (const LeaseView& lease : present_.leases) add(lease);
    for (const LeaseView& lease : present_.queue) add(lease);
    for (std::size_t i = 0; i < steps_.size(); ++i) add_step(i);
    const std::vector<Prospect> prospects =
        replay::forecast(present_.devices, expected_, settings, present_.now);
    std::vector<OutlookRow> rows;
    rows.reserve(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) rows.push_back(row(i, prospects));
    return rows;
  }

 private:
  bool is_replaced(LeaseId lease) const {
    return std::ranges::any_of(steps_, [&](const UpStep& step) {
      return step.what == UpStep::What::kReplace && step.lease == lease;
    });
  }

  void add(const LeaseView& lease) {
    const auto& member = lease.request.member;
    if (is_replaced(lease.id) || (member && is_replaced(member->set))) return;
    Expected one{.request = lease.request, .user = lease.user};
    if (lease.state != LeaseState::kWaiting && lease.state != LeaseState::kSuspended) {
      one.running = Expected::Running{};
      for (const LeasePart& part : lease.parts) {
        one.running->parts.push_back({part.device, part.granted});
      }
      if (lease.expected_end) {
        one.running->ends =
            milliseconds(std::max<std::int64_t>(lease.expected_end->value - present_.now.value, 0));
      }
    }
    one.request.after = entries_of(lease.request.after);
    one.request.member.reset();
    if (lease.set) {
      one.request.members -= std::min(one.request.members, lease.set->begun);
      if (one.request.members == 0) return;  // All of them are here by themselves.
    }
    std::string name = lease.request.name.empty() ? "" : " (" + lease.request.name + ")";
    push(std::move(one), to_text(lease.id) + name, lease.id);
    if (member) entries_[member->set].push_back(expected_.size());
  }

  void add_step(std::size_t i) {
    const PlannedSession& session = *steps_[i].session;
    if (steps_[i].what == UpStep::What::kGoesOn) {
      of_session_[session.name] = entries_[checked(steps_[i].lease)];
      for (const std::size_t entry : of_session_[session.name]) names_[entry - 1] = session.name;
      return;
    }
    if (steps_[i].what == UpStep::What::kIsDone) return;
    Expected one{.request = requests_[i].request, .user = user_, .named = requests_[i].named};
    one.request.after.clear();
    for (const auto& after : session.after) {
      for (const std::size_t entry : of_session_[after.session]) {
        one.request.after.push_back({.lease = {entry}, .ends = after.ends});
      }
    }
    push(std::move(one), session.name, std::nullopt);
    of_session_[session.name] = {expected_.size()};
  }

  void push(Expected one, std::string name, std::optional<LeaseId> lease) {
    expected_.push_back(std::move(one));
    names_.push_back(std::move(name));
    if (lease) entries_[*lease].push_back(expected_.size());
  }

  /// Of leases that are over nothing is left to wait for.
  std::vector<Predecessor> entries_of(const std::vector<Predecessor>& after) const {
    std::vector<Predecessor> all;
    for (const Predecessor& one : after) {
      const auto found = entries_.find(one.lease);
      if (found == entries_.end()) continue;
      for (const std::size_t entry : found->second) all.push_back({{entry}, one.ends});
    }
    return all;
  }

  /// A set is several of them.
  OutlookRow row(std::size_t i, const std::vector<Prospect>& prospects) {
    const UpStep& step = steps_[i];
    OutlookRow row{.session = step.session->name, .what = step.what, .lease = step.lease};
    if (step.what == UpStep::What::kIsDone) return row;
    bool all_end = true;
    for (const std::size_t entry : of_session_[row.session]) {
      const Prospect& one = prospects[entry - 1];
      if (one.starts && (!row.starts || *one.starts < *row.starts)) row.starts = one.starts;
      all_end = all_end && one.ends;
      if (one.ends) row.ends = std::max(row.ends.value_or(Duration{}), *one.ends);
      if (row.reason) continue;
      row.reason = one.reason;
      for (const std::size_t holder : one.holders) row.holders.push_back(names_[holder]);
    }
    if (row.reason == WhyView::Reason::kAfter) {
      row.holders.clear();
      for (const auto& after : step.session->after) row.holders.push_back(after.session);
    }
    if (!all_end) row.ends.reset();
    if (row.starts == Duration{}) {
      row.reason.reset();
      row.holders.clear();
    }
    return row;
  }

  const Present& present_;
  const std::vector<UpStep>& steps_;
  const std::vector<RequestBody>& requests_;
  UserId user_;
  std::vector<Expected> expected_;
  std::vector<std::string> names_;                       // Of those.
  std::map<LeaseId, std::vector<std::size_t>> entries_;  // Their places, from 1.
  std::map<std::string, std::vector<std::size_t>> of_session_;
};

}  // namespace

std::vector<OutlookRow> outlook(const Present& present, const std::vector<UpStep>& steps,
                                const std::vector<RequestBody>& requests, UserId user,
                                const core::Settings& settings) {
  return Outlook(present, steps, requests, user).look(settings);
}

}  // namespace berth::cli
