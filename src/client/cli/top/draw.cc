// SPDX-License-Identifier: Apache-2.0
#include "cli/top/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "cli/render/leases.h"
#include "cli/render/phrases.h"
#include "cli/render/status.h"
#include "cli/render/text.h"
#include "cli/render/why.h"
#include "cli/top/device.h"
#include "cli/top/lease_pane.h"
#include "cli/top/pieces.h"
#include "cli/top/timeline.h"

namespace berth::cli::top {
namespace {

constexpr std::size_t kTwoPanes = 160;
constexpr std::size_t kWithCourse = 80;  // Columns from which there are sparklines.

// The first that fits.
constexpr std::array<std::string_view, 4> kKeys = {
    "arrows row  Enter details  p pause  r resume  s save  x end  m message  w why  t tree  "
    "v timeline  o sort  u mine  g GPU  Space stop  / find  ? all  q quit",
    "Enter details  p pause  r resume  s save  x end  m message  w why  t tree  v timeline  / find "
    " "
    "? all  q quit",
    "p pause  r resume  s save  x end  m message  w why  / find  ? all  q quit",
    "p pause  r resume  x end  w why  / find  ? all  q quit"};

class Painter {
 public:
  Painter(const State& state, std::size_t width, std::size_t height, const Look& look)
      : state_(state),
        known_(state.shown()),
        look_(look),
        signs_(signs_of(look.context.charset)),
        frame_{.canvas = Canvas(width, height)},
        device_(state, look, frame_.canvas),
        drawing_{state_, look_, signs_, frame_} {
    look_.context.charset.colour = false;
    look_.context.width = width;
  }

  Frame frame() && {
    Canvas& canvas = frame_.canvas;
    const std::size_t width = canvas.width();
    const std::size_t height = canvas.height();
    if (width < kWidthMin || height < kHeightMin) {
      too_small();
      return std::move(frame_);
    }
    header();
    const std::size_t last = look_.keys ? height - 2 : height;
    const std::size_t below = devices({.top = 1, .bottom = last, .right = width});
    body({.top = below, .bottom = last, .right = width});
    if (look_.keys) foot();
    return std::move(frame_);
  }

 private:
  void too_small() {
    Canvas& canvas = frame_.canvas;
    const std::string text = "berth top needs " + std::to_string(kWidthMin) + " columns and " +
                             std::to_string(kHeightMin) + " lines; this has " +
                             std::to_string(canvas.width()) + " and " +
                             std::to_string(canvas.height()) + ".";
    std::size_t row = 0;
    for (const std::string& line : lines_of(wrapped(text, 0, canvas.width()))) {
      canvas.put(row++, 0, line);
    }
  }

  // ---- The first line.
  void header() {
    const RenderContext& context = look_.context;
    std::size_t held = 0;
    std::size_t suspended = 0;
    std::size_t waiting = 0;
    for (const auto& [id, lease] : known_.leases) {
      held += lease.state == LeaseState::kHeld ? 1 : 0;
      suspended += lease.state == LeaseState::kSuspended ? 1 : 0;
      waiting += lease.state == LeaseState::kWaiting ? 1 : 0;
    }
    Bytes free;
    for (const DeviceView& device : known_.devices) free += device.grantable;
    std::string left =
        " berth  " + escape_control(known_.host, context.charset) + "  " + look_.clock(known_.time);
    if (known_.simulated) left += "  simulated";
    if (state_.is_stopped()) left += "  stopped";
    const std::size_t end = frame_.canvas.put(0, 0, left, Style::kBold);
    std::string right =
        in_gib(free, context) + " GiB free to grant  " + std::to_string(held) + " held  ";
    if (suspended > 0) right += std::to_string(suspended) + " suspended  ";
    right += std::to_string(waiting) + " wait ";
    std::string alerts;
    if (known_.alerts > 0) {
      alerts = " " + std::string(signs_.alert) + " " + counted(known_.alerts, "alert") + " ";
    }
    const std::size_t before = frame_.canvas.width() - columns_of(alerts);
    const std::string short_free = in_gib(free, context) + " GiB free  ";
    const std::string counts =
        std::to_string(held) + " held  " + std::to_string(waiting) + " wait ";
    for (const std::string& text : {right, short_free + counts, short_free}) {
      if (before <= end + columns_of(text)) continue;
      frame_.canvas.put_before(0, before, text, Style::kBold);
      break;
    }
    frame_.canvas.put(0, before, alerts, Style::kWarn);
  }

  // ---- Devices: the row below them.
  std::size_t devices(const Area& area) {
    const std::size_t count = known_.devices.size();
    // What else there should be room for: a table, and a queue where there is one.
    const std::size_t waiting = std::min<std::size_t>(known_.queue.size(), 3);
    const std::size_t others = 7 + (waiting == 0 ? 0 : waiting + 1);
    const std::size_t room = area.rows() > others ? area.rows() - others : 0;
    const bool with_course = area.columns() >= kWithCourse && room >= 3 * count;
    const bool is_flat = room < 2 * count;
    std::size_t row = area.top;
    for (const DeviceView& device : known_.devices) {
      if (row >= area.bottom || (is_flat && row >= area.top + std::max<std::size_t>(room, 1))) {
        const std::size_t left = count - (row - area.top);
        frame_.canvas.put(row++, 1, "and " + counted(left, "GPU") + " more", Style::kDim);
        break;
      }
      if (is_flat) {
        device_.flat(device, row++);
        continue;
      }
      row = device_.tall(device, row, with_course);
    }
    if (!known_.trouble.empty()) {
      frame_.canvas.put(row++, 1, escape_control(known_.trouble, look_.context.charset),
                        Style::kBad);
    }
    return row;
  }

  // ---- Leases, queue and events; or what lies over them.
  void body(const Area& area) {
    if (state_.mode() == State::Mode::kHelp) return help(area);
    if (state_.mode() == State::Mode::kWhy) return why(area);
    if (state_.mode() == State::Mode::kDetails) return details(area);
    if (state_.has_timeline()) return timeline(area);
    LeasePane leases(drawing_);
    if (area.columns() >= kTwoPanes) return two_panes(leases, area);
    const std::size_t waiting = known_.queue.size();
    // The queue has what it needs up to five rows and their reasons; the table what it needs;
    // events the rest.
    const std::size_t queued = waiting == 0 ? 0 : std::min<std::size_t>(2 * waiting, 10) + 1;
    const std::size_t for_queue = std::min(queued, area.rows() / 3);
    const std::size_t for_leases = std::min(leases.rows_wanted(), area.rows() - for_queue);
    std::size_t row = area.top + for_leases;
    leases.draw({area.top, row, area.left, area.right});
    if (waiting > 0) row = queue({row, row + for_queue, area.left, area.right});
    events({row, area.bottom, area.left, area.right});
  }

  TimelinePane timeline_pane() const {
    return {drawing_, [this](LeaseId id) { return device_.hue(id); }};
  }

  // Leases and the timeline; beside them the queue, sets and events.
  void two_panes(LeasePane& leases, const Area& area) {
    constexpr std::size_t kHigh = 24;  // From which on the timeline has a part for certain.
    const std::size_t middle = area.columns() * 2 / 3;
    TimelinePane timeline = timeline_pane();
    const std::size_t left = area.rows() - std::min(area.rows(), leases.rows_wanted());
    const std::size_t least = area.rows() >= kHigh ? area.rows() / 3 : 0;
    std::size_t for_timeline = std::min(timeline.rows_wanted(), std::max(left, least));
    if (for_timeline < std::min(kTimelineRowsMin, timeline.rows_wanted())) for_timeline = 0;
    const std::size_t for_leases = std::min(leases.rows_wanted(), area.rows() - for_timeline);
    std::size_t end = area.top + for_leases;
    leases.draw({area.top, end, area.left, middle - 1});
    timeline.draw({end, end + for_timeline, area.left, middle - 1});
    end += for_timeline;
    const Area right = {area.top, area.bottom, middle + 2, area.right};
    SetPane sets(drawing_);
    std::size_t below = queue(right);
    const std::size_t for_sets =
        std::min(sets.rows_wanted(), (area.bottom - std::min(area.bottom, below)) / 2);
    below = sets.draw({below, below + for_sets, right.left, right.right});
    end = std::max(end, events({below, area.bottom, right.left, right.right}));
    // As far as there is something beside it, where nothing ends the frame.
    for (std::size_t row = area.top; row < (look_.keys ? area.bottom : end); ++row) {
      frame_.canvas.put(row, middle, signs_.bar, Style::kFaint);
    }
  }

  void timeline(const Area& area) {
    TimelinePane timeline = timeline_pane();
    SetPane sets(drawing_);
    const std::size_t for_sets = std::min(sets.rows_wanted(), area.rows() / 3);
    const std::size_t for_timeline = std::min(timeline.rows_wanted(), area.rows() - for_sets);
    std::size_t row = area.top + for_timeline;
    frame_.page = std::max<std::size_t>(for_timeline, 2) - 1;
    if (timeline.rows_wanted() == 1) {
      frame_.canvas.put(area.top, area.left + 2, "Nothing ran lately, runs or waits.", Style::kDim,
                        area.right);
    }
    timeline.draw({area.top, row, area.left, area.right});
    row = sets.draw({row, row + for_sets, area.left, area.right});
    events({row, area.bottom, area.left, area.right});
  }

  // The row below it.
  std::size_t queue(const Area& area) {
    const std::vector<const LeaseView*> queue = state_.queue();
    if (queue.empty() || area.rows() < 2) return area.top;
    heading(drawing_, "Queue " + std::to_string(queue.size()), area);
    RenderContext context = look_.context;
    context.width = area.columns();
    std::vector<Waiting> first;
    for (std::size_t i = 0; i < std::min(queue.size(), kReasonsShown); ++i) {
      const auto reason = known_.reasons.find(queue[i]->id);
      first.push_back({*queue[i], reason == known_.reasons.end() ? std::nullopt
                                                                 : std::optional(reason->second)});
    }
    // A line each, aligned; or, where the reasons do not fit beside them, one after the other.
    const std::vector<std::string> aligned = lines_of(queue_lines(first, context, Hints::kNone));
    std::size_t row = area.top + 1;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const std::vector<std::string> lines =
          aligned.size() == first.size()
              ? std::vector{aligned[i]}
              : lines_of(queue_lines(std::span(first).subspan(i, 1), context, Hints::kNone));
      if (row + lines.size() > area.bottom) break;
      for (const std::string& line : lines) {
        frame_.canvas.put(row, area.left, line, Style::kPlain, area.right);
        if (&line == &lines.front()) mark(drawing_, row, first[i].lease.id, area);
        ++row;
      }
    }
    return row;
  }

  // Likewise.
  std::size_t events(const Area& area) {
    if (area.rows() < 2 || known_.events.empty()) return area.top;
    const RenderContext& context = look_.context;
    heading(drawing_, "Events", area);
    std::size_t row = area.top + 1;
    for (const AuditEntry& entry : known_.events) {
      if (row >= area.bottom) break;
      std::string text = look_.clock(entry.at) + "  " + std::string(to_text(entry.verb));
      if (entry.lease != LeaseId{}) {
        text += " " + to_text(entry.lease) + " " + session_of(entry.owner, entry.name, context);
      }
      if (entry.by) text += by_whom(entry.by, context);
      if (!entry.reason.empty()) text += ": " + escape_control(entry.reason, context.charset);
      frame_.canvas.put(row++, area.left + 1, text, Style::kDim, area.right);
    }
    return row;
  }

  void text(const Area& area, std::string_view text) {
    std::size_t row = area.top + 1;
    for (const std::string& line : lines_of(text)) {
      if (row >= area.bottom) break;
      frame_.canvas.put(row++, area.left + 1, line, Style::kPlain, area.right);
    }
  }

  void help(const Area& area) {
    text(area,
         "up, down, j, k    choose a lease        PgUp PgDn Home End  far\n"
         "p  pause it: its memory goes to the host, and its programs wait\n"
         "r  resume it      s  have it save itself    x  end it, or cancel a request\n"
         "m  message its holder                       w  why it waits\n"
         "Enter  all that is known of it\n"
         "t  processes below their leases             v  timeline and sets of jobs\n"
         "o  sort by another column    /  find    u  yours alone    g  by GPU\n"
         "Space  stop the view, and go on             n  try to connect now\n"
         "q  quit                                     any key closes this\n\n"
         "Bars: " +
             std::string(signs_.used) + " used  " + std::string(signs_.unused) +
             " granted, not used  " + std::string(signs_.unmanaged) + " without a lease  " +
             std::string(signs_.held_back) + " held back  " + std::string(signs_.free) +
             " free\nTimeline: " + std::string(signs_.used) + " ran  " +
             std::string(signs_.unused) + " expected  " + std::string(signs_.waits) +
             " will start  " + std::string(signs_.suspended) + " suspended  " +
             std::string(signs_.ended) + " ended  " + std::string(signs_.free) + " no end known\n");
  }

  void why(const Area& area) {
    const LeaseView* lease = state_.chosen();
    if (lease == nullptr) return;
    RenderContext context = look_.context;
    context.width = area.columns() - 2;
    const WhyView* told = state_.why();
    text(area, told == nullptr ? "Asking why …" : why_text(*lease, *told, context));
  }

  void details(const Area& area) {
    if (const LeaseView* lease = state_.chosen()) text(area, lease_details(*lease, look_.context));
  }

  // ---- The last two lines.
  void foot() {
    const std::size_t row = frame_.canvas.height() - 2;
    const auto [sentence, style] = message();
    frame_.canvas.put(row, 1, escape_control(sentence, look_.context.charset), style);
    for (const std::string_view keys : kKeys) {
      if (columns_of(keys) + 2 > frame_.canvas.width()) continue;
      frame_.canvas.put(row + 1, 1, keys, Style::kDim);
      break;
    }
  }

  std::pair<std::string, Style> message() const {
    const LeaseView* lease = state_.chosen();
    const std::string id = lease == nullptr ? "" : to_text(lease->id);
    switch (state_.mode()) {
      case State::Mode::kConfirm:
        return {lease == nullptr ? "It has ended meanwhile." : question(*lease), Style::kBold};
      case State::Mode::kFind:
        return {"Find: " + state_.typed() + "_   Enter keeps it, Esc shows all", Style::kBold};
      case State::Mode::kMessage:
        return {"Message about " + id + ": " + state_.typed() + "_   Enter sends it, Esc does not",
                Style::kBold};
      default:
        break;
    }
    if (state_.link() == Link::kLost) {
      return {"No connection since " + look_.clock(state_.lost_at()) +
                  ". Figures are from then. Trying again; n tries now.",
              Style::kBad};
    }
    if (state_.link() == Link::kConnecting) return {"Connecting …", Style::kDim};
    return {state_.said(), Style::kPlain};
  }

  std::string question(const LeaseView& lease) const {
    const std::string who = to_text(lease.id) + " " + session_of(lease, look_.context);
    if (state_.asked() == Operation::kPause) {
      return "Pause " + who + "? " + size_or_dash(used_by(lease), look_.context) +
             " go to host memory, and its programs wait.  y pause  n let it run";
    }
    if (lease.state == LeaseState::kWaiting)
      return "Cancel the request " + who + "?  y cancel  n keep";
    const bool runs = lease.command.has_value() || !lease.members.empty();
    return "End " + who + "? " +
           (runs ? "Its programs get SIGTERM, and SIGKILL ten seconds later."
                 : "It is free then.") +
           "  y end  n keep";
  }

  const State& state_;
  const Known& known_;
  Look look_;
  const Signs& signs_;
  Frame frame_;
  DevicePainter device_;
  const Drawing drawing_;
};

}  // namespace

Frame draw(const State& state, std::size_t width, std::size_t height, const Look& look) {
  return Painter(state, width, height, look).frame();
}

}  // namespace berth::cli::top
