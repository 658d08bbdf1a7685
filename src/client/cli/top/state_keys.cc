// SPDX-License-Identifier: Apache-2.0
// Keys of `berth top`, and what they do to its state.
#include <algorithm>
#include <utility>

#include "cli/top/state.h"

namespace berth::cli::top {
namespace {

constexpr std::size_t kTypedMax = 280;  // Bytes: as long as a message may be.

bool has_programs(const LeaseView& lease) {
  return lease.command.has_value() || !lease.members.empty();
}

}  // namespace

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
    case 't':
      has_tree_ = !has_tree_;
      has_timeline_ = false;
      say(has_tree_ ? "Processes below their leases." : "Leases without their processes.");
      return {};
    case 'v':
      has_timeline_ = !has_timeline_;
      say(has_timeline_ ? "What ran, runs and is expected." : "Leases, queue and events.");
      return {};
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
