// SPDX-License-Identifier: Apache-2.0
// State of `berth top`: what it knows, what is chosen, and what keys do. Pure: step by step, by
// what the daemon tells and by keys; effects are for the edge, which has terminal and connections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/top/keys.h"
#include "model/audit_entry.h"
#include "model/bodies.h"
#include "model/history.h"
#include "model/lease.h"
#include "model/request.h"
#include "model/routes.h"
#include "model/view.h"
#include "wire/live.h"

namespace berth::cli::top {

/// How a device stood in steps of kCourseStep: the most of each; absent: nothing was told then.
inline constexpr Duration kCourseStep = seconds(15);
inline constexpr std::size_t kCourseSteps = 240;  // An hour.
struct Course {
  std::int64_t last = 0;                          // Which step the youngest is, since 1970.
  std::deque<std::optional<std::uint64_t>> used;  // Bytes; the youngest last.
  std::deque<std::optional<std::uint64_t>> busy;  // Percent.
};

enum class Sort : std::uint8_t { kId, kSession, kUsed, kBusy, kAge };
constexpr auto words_of(Sort) {
  using enum Sort;
  return make_words<Sort>(
      {{kId, "id"}, {kSession, "session"}, {kUsed, "used"}, {kBusy, "busy"}, {kAge, "age"}});
}

/// A process that belongs to a lease, as the daemon and /proc tell of it.
struct ProcessFacts {
  struct Use {
    DeviceId device;
    Bytes used;
    friend bool operator==(const Use&, const Use&) = default;
  };
  std::int32_t pid = 0;
  LeaseId lease;
  std::optional<UserId> user = {};
  std::string name = {};     // Of the program; empty: not known.
  std::string command = {};  // As it was started; empty: not known, or not for the viewer.
  std::int32_t parent = 0;   // The nearest of the same lease; 0: none is known.
  std::vector<Use> uses = {};
};

/// A lease that has ended: when it ran.
struct Ended {
  LeaseId id;
  UserId user;
  std::string name;
  UnixMs from;
  UnixMs to;
  std::optional<EndResult> result = {};
};

/// What the daemon has told.
struct Known {
  std::string host;
  wire::LiveViewer viewer;
  UnixMs time;  // Of its last message.
  std::string trouble;
  std::vector<DeviceView> devices;
  std::map<LeaseId, LeaseView> leases;
  std::vector<LeaseId> queue;
  std::map<LeaseId, WhyView> reasons;  // Of the first that wait, as told when it was asked.
  std::size_t alerts = 0;              // That stand.
  std::deque<AuditEntry> events;       // The youngest first.
  std::map<LeaseId, std::vector<ProcessFacts>> processes;  // As they were when it was asked.
  std::map<LeaseId, Ended> ended;                          // The last of them.
  bool simulated = false;
};

enum class Link : std::uint8_t { kConnecting, kLive, kLost };

/// What can be done to the chosen lease.
enum class Operation : std::uint8_t { kPause, kResume, kSave, kEnd, kMessage };

/// A request of the user, to be sent; `label` begins the sentence that tells how it went.
struct Send {
  Route route = Route::kSuspend;
  LeaseId lease;
  AnyBody body = {};
  std::string label;
};
struct AskWhy {
  LeaseId lease;
};
struct Quit {};
struct TryNow {};
using Effect = std::variant<Send, AskWhy, Quit, TryNow>;
using Effects = std::vector<Effect>;

struct Options {
  bool read_only = false;
  std::optional<std::uint32_t> gpu;  // Only leases on it.
  bool mine = false;                 // Only leases of the viewer.
};

class State {
 public:
  explicit State(Options options) : options_(options) {}

  // What the daemon tells.

  void take(const wire::LiveSnapshot& snapshot);
  void take(const wire::LiveChange& change);
  void take(LeaseId lease, WhyView why);
  /// Of GET /v1/history, of devices, in steps of kCourseStep: before the first snapshot, or soon.
  void take(const history::Past& past);
  /// Of GET /v1/history/sessions: likewise.
  void take(const std::vector<history::Session>& sessions);
  /// All of them, as of now.
  void take(std::vector<ProcessFacts> processes);
  /// At that time by our own clock.
  void lost(UnixMs now);
  void connecting() { link_ = Link::kConnecting; }
  /// Of `Send`: empty `error`: it was done.
  void answered(const Send& request, std::string_view error);

  // What the user does.

  /// `page`: how many rows of leases are shown.
  Effects press(const Key& key, std::size_t page);
  void choose(LeaseId lease);

  // What is to be seen.

  const Known& shown() const { return stopped_ ? *stopped_ : known_; }
  const Options& options() const { return options_; }
  Link link() const { return link_; }
  UnixMs lost_at() const { return lost_at_; }
  bool is_stopped() const { return stopped_.has_value(); }
  const Course* course(DeviceId device) const;
  /// Those that hold something, of the filter, in the order of the sorting.
  std::vector<const LeaseView*> rows() const;
  std::vector<const LeaseView*> queue() const;
  const LeaseView* chosen() const;
  const std::string& find() const { return find_; }

  bool has_tree() const { return has_tree_; }
  bool has_timeline() const { return has_timeline_; }

  /// What has the keys.
  enum class Mode : std::uint8_t { kList, kConfirm, kFind, kMessage, kHelp, kWhy, kDetails };
  Mode mode() const { return mode_; }
  Operation asked() const { return asked_; }
  const std::string& typed() const { return typed_; }
  /// Of Mode::kWhy; null: not told yet.
  const WhyView* why() const;
  /// What came of the last thing that was done; empty: nothing.
  const std::string& said() const { return said_; }

 private:
  bool may_act_on(const LeaseView& lease) const;
  void remember(const DeviceView& device, UnixMs at);
  void remember(Ended ended);
  void move(std::ptrdiff_t rows);
  Effects press_in_list(const Key& key, std::size_t page);
  Effects press_letter(char letter);
  Effects press_while_typing(const Key& key);
  Effects begin(Operation operation);
  Effects carry_out();
  void say(std::string text) { said_ = std::move(text); }

  Options options_;
  Known known_;
  std::optional<Known> stopped_;  // What was known when the user stopped the view.
  std::map<DeviceId, Course> courses_;
  Link link_ = Link::kConnecting;
  UnixMs lost_at_;
  Sort sort_ = Sort::kId;
  std::string find_;
  bool has_tree_ = false;      // Processes stand below their leases.
  bool has_timeline_ = false;  // In place of the leases.
  LeaseId chosen_;
  Mode mode_ = Mode::kList;
  Operation asked_ = Operation::kPause;
  std::string typed_;
  std::string said_;
};

}  // namespace berth::cli::top
