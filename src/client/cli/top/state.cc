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
constexpr std::size_t kTypedMax = 280;  // Bytes: as long as a message may be.

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

bool has_programs(const LeaseView& lease) {
  return lease.command.has_value() || !lease.members.empty();
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

// Rows of leases, then the queue: both can be chosen.
void State::move(std::ptrdiff_t by) {
  std::vector<const LeaseView*> all = rows();
  for (const LeaseView* waiting : queue()) all.push_back(waiting);
  if (all.empty()) return;
  const auto at = std::ranges::find(all, chosen_, &LeaseView::id);
  const auto last = static_cast<std::ptrdiff_t>(all.size()) - 1;
  const std::ptrdiff_t from = at == all.end() ? (by > 0 ? -1 : last + 1) : at - all.begin();
  chosen_ = all[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(from + by, 0, last))]->id;
}

Effects State::press(const Key& key, std::size_t page) {
  switch (mode_) {
    case Mode::kFind:
    case Mode::kMessage:
      return press_while_typing(key);
    case Mode::kHelp:
    case Mode::kWhy:
    case Mode::kDetails:
      mode_ = Mode::kList;
      return {};
    case Mode::kConfirm:
      mode_ = Mode::kList;
      if (key.text == "y" || key.text == "Y") return carry_out();
      say("Nothing was done.");
      return {};
    case Mode::kList:
      break;
  }
  return press_in_list(key, page);
}

Effects State::press_in_list(const Key& key, std::size_t page) {
  using Kind = Key::Kind;
  const auto rows_of_page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(page, 1));
  constexpr std::ptrdiff_t kWheel = 3;
  constexpr std::ptrdiff_t kAll = 1'000'000;
  said_.clear();
  switch (key.kind) {
    case Kind::kUp:
      move(-1);
      return {};
    case Kind::kDown:
      move(1);
      return {};
    case Kind::kPageUp:
      move(-rows_of_page);
      return {};
    case Kind::kPageDown:
      move(rows_of_page);
      return {};
    case Kind::kHome:
      move(-kAll);
      return {};
    case Kind::kEnd:
      move(kAll);
      return {};
    case Kind::kWheelUp:
      move(-kWheel);
      return {};
    case Kind::kWheelDown:
      move(kWheel);
      return {};
    case Kind::kEnter:
      if (chosen() != nullptr) mode_ = Mode::kDetails;
      return {};
    case Kind::kEscape:
      find_.clear();
      return {};
    case Kind::kText:
      return key.text.size() == 1 ? press_letter(key.text.front()) : Effects{};
    case Kind::kBackspace:
    case Kind::kClick:
      break;
  }
  return {};
}

Effects State::press_letter(char letter) {
  switch (letter) {
    case 'q':
      return {Quit{}};
    case 'j':
      move(1);
      return {};
    case 'k':
      move(-1);
      return {};
    case '?':
    case 'h':
      mode_ = Mode::kHelp;
      return {};
    case '/':
      mode_ = Mode::kFind;
      typed_ = find_;
      return {};
    case ' ':
      stopped_ ? stopped_.reset() : void(stopped_ = known_);
      return {};
    case 'o':
      sort_ = static_cast<Sort>((static_cast<std::size_t>(sort_) + 1) % kWordsOf<Sort>.size());
      say("Sorted by " + std::string(to_text(sort_)) + ".");
      return {};
    case 'u':
      options_.mine = !options_.mine;
      say(options_.mine ? "Your leases alone." : "Leases of all users.");
      return {};
    case 'g': {
      const std::size_t devices = known_.devices.size();
      const std::uint32_t next = options_.gpu ? *options_.gpu + 1 : 0;
      options_.gpu = next < devices ? std::optional(next) : std::nullopt;
      say(options_.gpu ? "Leases on GPU " + std::to_string(*options_.gpu) + " alone."
                       : "Leases on all GPUs.");
      return {};
    }
    case 'n':
      return {TryNow{}};
    case 'w':
      if (chosen() == nullptr) break;
      mode_ = Mode::kWhy;
      known_.reasons.erase(chosen_);
      return {AskWhy{chosen_}};
    case 'p':
      return begin(Operation::kPause);
    case 'r':
      return begin(Operation::kResume);
    case 's':
      return begin(Operation::kSave);
    case 'x':
      return begin(Operation::kEnd);
    case 'm':
      return begin(Operation::kMessage);
    default:
      break;
  }
  return {};
}

Effects State::begin(Operation operation) {
  const LeaseView* lease = chosen();
  if (lease == nullptr) {
    say("Choose a lease first: arrow keys, or a click.");
    return {};
  }
  if (options_.read_only || !known_.viewer.may_act) {
    say("This view cannot act" + std::string(options_.read_only ? " (--read-only)." : "."));
    return {};
  }
  if (link_ != Link::kLive) {
    say("There is no connection to the daemon.");
    return {};
  }
  asked_ = operation;
  if (operation == Operation::kMessage) {
    mode_ = Mode::kMessage;
    typed_.clear();
    return {};
  }
  if (!may_act_on(*lease)) {
    say(to_text(lease->id) + " is another user's. You can message them: m");
    return {};
  }
  if (operation == Operation::kResume || operation == Operation::kSave) return carry_out();
  mode_ = Mode::kConfirm;
  return {};
}

Effects State::carry_out() {
  const LeaseView* lease = chosen();
  if (lease == nullptr) {
    say("It has ended meanwhile.");
    return {};
  }
  const std::string id = to_text(lease->id);
  Send send{.lease = lease->id};
  switch (asked_) {
    case Operation::kPause:
      send.route = Route::kSuspend;
      send.body = PauseBody{};
      send.label = "Pause " + id;
      break;
    case Operation::kResume:
      send.route = Route::kResume;
      send.body = NoBody{};
      send.label = "Resume " + id;
      break;
    case Operation::kSave:
      send.route = Route::kCheckpoint;
      send.body = CheckpointBody{};
      send.label = "Save " + id;
      break;
    case Operation::kEnd:
      send.route = has_programs(*lease) || lease->state == LeaseState::kWaiting ? Route::kCancel
                                                                                : Route::kRelease;
      send.body = send.route == Route::kCancel ? AnyBody(NoBody{}) : AnyBody(ReleaseBody{});
      send.label = "End " + id;
      break;
    case Operation::kMessage:
      send.route = Route::kMessage;
      send.body = MessageBody{.text = typed_};
      send.label = "Message " + id;
      break;
  }
  say(send.label + " …");
  return {std::move(send)};
}

Effects State::press_while_typing(const Key& key) {
  using Kind = Key::Kind;
  const bool is_find = mode_ == Mode::kFind;
  if (key.kind == Kind::kText && typed_.size() + key.text.size() <= kTypedMax) typed_ += key.text;
  if (key.kind == Kind::kBackspace && !typed_.empty()) {
    // A letter, which may have several bytes.
    while (typed_.size() > 1 && (static_cast<unsigned char>(typed_.back()) & 0xc0U) == 0x80) {
      typed_.pop_back();
    }
    typed_.pop_back();
  }
  if (is_find) find_ = typed_;
  if (key.kind == Kind::kEscape) {
    mode_ = Mode::kList;
    if (is_find) find_.clear();
  }
  if (key.kind != Kind::kEnter) return {};
  mode_ = Mode::kList;
  return is_find || typed_.empty() ? Effects{} : carry_out();
}

}  // namespace berth::cli::top
