// SPDX-License-Identifier: Apache-2.0
#include "cli/top/state.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "cli/render/phrases.h"

namespace berth::cli::top {
namespace {

constexpr std::size_t kEventsKept = 100;
constexpr std::size_t kEndedKept = 200;

bool is_firing(const wire::RuleView& rule) {
  return std::ranges::any_of(rule.states, &wire::RuleStateView::firing);
}

std::size_t standing(const wire::AlertList& alerts) {
  return static_cast<std::size_t>(std::ranges::count_if(alerts.items, is_firing));
}

std::optional<std::uint32_t> busy_of(const LeaseView& lease) {
  std::optional<std::uint32_t> most;
  for (const LeasePart& part : lease.parts) {
    if (part.gpu_utilization) most = std::max(most.value_or(0), *part.gpu_utilization);
  }
  return most;
}

bool is_on(const LeaseView& lease, std::uint32_t gpu) {
  return std::ranges::any_of(lease.parts, [&](const LeasePart& part) { return part.index == gpu; });
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return !std::ranges::search(text, part, same).empty() || part.empty();
}

constexpr std::int64_t kStepMs = kCourseStep.ns / milliseconds(1).ns;

void raise(std::optional<std::uint64_t>& most, std::optional<std::uint64_t> value) {
  if (value) most = std::max(most.value_or(0), *value);
}

// So that the youngest step is that one, or a later one that is there.
Course& moved_to(Course& course, std::int64_t step) {
  if (course.used.empty() || step - course.last >= static_cast<std::int64_t>(kCourseSteps)) {
    course = {.last = step, .used = {std::nullopt}, .busy = {std::nullopt}};
  }
  for (; course.last < step; ++course.last) {
    course.used.emplace_back();
    course.busy.emplace_back();
  }
  while (course.used.size() > kCourseSteps) {
    course.used.pop_front();
    course.busy.pop_front();
  }
  return course;
}

void sort_by(Sort sort, std::vector<const LeaseView*>& rows) {
  const auto by_id = [](const LeaseView* a, const LeaseView* b) { return a->id < b->id; };
  std::ranges::sort(rows, by_id);
  switch (sort) {
    case Sort::kId:
      return;
    case Sort::kSession:
      std::ranges::stable_sort(rows, [](const LeaseView* a, const LeaseView* b) {
        return std::tie(a->user, a->request.name) < std::tie(b->user, b->request.name);
      });
      return;
    case Sort::kUsed:
      std::ranges::stable_sort(rows, std::greater(), [](const LeaseView* lease) {
        return used_by(*lease).value_or(Bytes{});
      });
      return;
    case Sort::kBusy:
      std::ranges::stable_sort(rows, std::greater(),
                               [](const LeaseView* lease) { return busy_of(*lease); });
      return;
    case Sort::kAge:
      std::ranges::stable_sort(rows, std::less(),
                               [](const LeaseView* lease) { return lease->started_at; });
      return;
  }
}

}  // namespace

void State::take(const wire::LiveSnapshot& snapshot) {
  link_ = Link::kLive;
  Known fresh{.host = snapshot.host,
              .viewer = snapshot.viewer,
              .time = snapshot.status.time,
              .trouble = snapshot.status.trouble,
              .devices = snapshot.status.devices,
              .alerts = standing(snapshot.alerts),
              .events = {snapshot.events.begin(), snapshot.events.end()},
              .simulated = snapshot.status.simulated};
  for (const LeaseView& lease : snapshot.status.leases) fresh.leases[lease.id] = lease;
  for (const LeaseView& lease : snapshot.status.queue) {
    fresh.leases[lease.id] = lease;
    fresh.queue.push_back(lease.id);
  }
  fresh.reasons = std::move(known_.reasons);
  fresh.processes = std::move(known_.processes);
  fresh.ended = std::move(known_.ended);
  known_ = std::move(fresh);
  for (const DeviceView& device : known_.devices) remember(device, known_.time);
}

void State::take(const wire::LiveChange& change) {
  known_.time = change.time;
  if (change.trouble) known_.trouble = *change.trouble;
  for (const DeviceView& device : change.devices.value_or(std::vector<DeviceView>{})) {
    const auto known = std::ranges::find(known_.devices, device.id, &DeviceView::id);
    if (known == known_.devices.end()) {
      known_.devices.push_back(device);
    } else {
      *known = device;
    }
  }
  for (const LeaseView& lease : change.leases.value_or(std::vector<LeaseView>{})) {
    known_.leases[lease.id] = lease;
    if (lease.state != LeaseState::kEnded || !lease.started_at) continue;
    remember({.id = lease.id,
              .user = lease.user,
              .name = lease.request.name,
              .from = *lease.started_at,
              .to = lease.ended_at.value_or(change.time),
              .result = lease.result});
  }
  for (const LeaseId id : change.gone.value_or(std::vector<LeaseId>{})) known_.leases.erase(id);
  if (change.queue) known_.queue = *change.queue;
  if (change.alerts) known_.alerts = standing(*change.alerts);
  for (const AuditEntry& entry : change.events.value_or(std::vector<AuditEntry>{})) {
    known_.events.push_back(entry);
  }
  // They come with the youngest first, and so they stand here.
  std::ranges::stable_sort(known_.events, std::greater(), &AuditEntry::at);
  if (known_.events.size() > kEventsKept) known_.events.resize(kEventsKept);
  for (const DeviceView& device : known_.devices) remember(device, known_.time);
}

void State::take(LeaseId lease, WhyView why) {
  known_.reasons[lease] = std::move(why);
  std::erase_if(known_.reasons, [&](const auto& one) {
    return one.first != chosen_ && std::ranges::find(known_.queue, one.first) == known_.queue.end();
  });
}

void State::take(const std::vector<history::Session>& sessions) {
  for (const history::Session& session : sessions) {
    if (!session.ended) continue;
    remember({.id = session.id,
              .user = session.user,
              .name = session.name,
              .from = session.started,
              .to = *session.ended,
              .result = session.result});
  }
}

// The one that ended first goes.
void State::remember(Ended ended) {
  known_.ended[ended.id] = std::move(ended);
  if (known_.ended.size() <= kEndedKept) return;
  known_.ended.erase(
      std::ranges::min_element(known_.ended, {}, [](const auto& one) { return one.second.to; }));
}

void State::take(std::vector<ProcessFacts> processes) {
  known_.processes.clear();
  for (ProcessFacts& process : processes) {
    known_.processes[process.lease].push_back(std::move(process));
  }
}

void State::lost(UnixMs now) {
  if (link_ != Link::kLost) lost_at_ = now;
  link_ = Link::kLost;
}

void State::answered(const Send& request, std::string_view error) {
  say(request.label + (error.empty() ? ": done." : ": " + std::string(error)));
}

// A step has the most of what was told in it; one in which nothing was told is unknown.
void State::remember(const DeviceView& device, UnixMs at) {
  const std::int64_t step = at.value / kStepMs;
  Course& course = moved_to(courses_[device.id], step);
  raise(course.used.back(), device.used ? std::optional(device.used->value) : std::nullopt);
  raise(course.busy.back(), device.figures.gpu_utilization);
}

void State::take(const history::Past& past) {
  for (const history::Series& series : past.series) {
    const history::Subject& subject = series.subject;
    const bool is_busy = subject.figure == history::Figure::kUtilization;
    const bool is_wanted = is_busy || subject.figure == history::Figure::kUsed;
    if (history::kind_of(subject) != history::Kind::kDevice || !is_wanted) continue;
    Course& course = courses_[subject.device];
    for (const history::Bucket& bucket : series.buckets) {
      const std::int64_t step = bucket.start * 1'000 / kStepMs;
      if (course.used.empty() || step > course.last) moved_to(course, step);
      const auto back = static_cast<std::size_t>(course.last - step);
      if (back >= kCourseSteps) continue;
      // Of before all that is known.
      while (course.used.size() <= back) {
        course.used.emplace_front();
        course.busy.emplace_front();
      }
      auto& values = is_busy ? course.busy : course.used;
      raise(values[values.size() - 1 - back], bucket.most.value);
    }
  }
}

const Course* State::course(DeviceId device) const {
  const auto found = courses_.find(device);
  return found == courses_.end() ? nullptr : &found->second;
}

std::vector<const LeaseView*> State::rows() const {
  std::vector<const LeaseView*> rows;
  const Known& known = shown();
  for (const auto& [id, lease] : known.leases) {
    const bool holds = lease.state != LeaseState::kWaiting && lease.state != LeaseState::kEnded;
    const bool wanted = (!options_.mine || lease.user == known.viewer.user) &&
                        (!options_.gpu || is_on(lease, *options_.gpu)) &&
                        (contains(lease.request.name, find_) ||
                         contains(lease.request.command, find_) || to_text(id) == find_);
    if (holds && wanted) rows.push_back(&lease);
  }
  sort_by(sort_, rows);
  return rows;
}

std::vector<const LeaseView*> State::queue() const {
  std::vector<const LeaseView*> queue;
  for (const LeaseId id : shown().queue) {
    const auto found = shown().leases.find(id);
    if (found != shown().leases.end()) queue.push_back(&found->second);
  }
  return queue;
}

const LeaseView* State::chosen() const {
  const auto found = shown().leases.find(chosen_);
  return found == shown().leases.end() ? nullptr : &found->second;
}

void State::choose(LeaseId lease) {
  chosen_ = lease;
}

const WhyView* State::why() const {
  const auto found = known_.reasons.find(chosen_);
  return found == known_.reasons.end() ? nullptr : &found->second;
}

bool State::may_act_on(const LeaseView& lease) const {
  const wire::LiveViewer& viewer = known_.viewer;
  return viewer.may_act && (viewer.admin || lease.user == viewer.user);
}

}  // namespace berth::cli::top
