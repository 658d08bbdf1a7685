// SPDX-License-Identifier: Apache-2.0
// Files of leases, and when they are made and removed. On a disk either may take longer than all
// else of a grant, so no client that hears of an offer waits for it: its files are made after the
// answers of a turn have gone out, and before anything else is heard, such as its claim. Old ones
// are removed when nothing has happened for a while. And what the programs have written into them
// is read whenever the driver is asked, to be compared. The event loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "enforce/lease_files.h"
#include "model/device.h"
#include "os/clock.h"
#include "os/processes.h"
#include "server/context_costs.h"
#include "server/dead_slots.h"

namespace berth::server {

class BudgetFiles {
 public:
  static constexpr Duration kQuietFor = milliseconds(200);
  static constexpr std::size_t kOldMax = 256;  // More than these do not wait for a quiet moment.

  static constexpr Duration kReadEvery = milliseconds(450);

  /// `contexts_path`: of the file in which stays what contexts were measured to cost.
  BudgetFiles(const enforce::LeaseFiles::Settings& settings, std::string contexts_path,
              const os::Clock& clock, std::function<void(const std::string&)> warn,
              std::function<bool(Process)> is_alive = os::is_alive);

  enum class When : std::uint8_t { kNow, kSoon };
  /// A lease that has files gets its other budgets at once. Without budgets it needs no files.
  void set_budgets(const enforce::Holder& lease, const std::vector<enforce::Budget>& budgets,
                   When when);
  /// Of a lease that has files, or is to have them soon.
  void pause(Handle lease, enforce::Paused paused);
  /// At the end of each turn, when answers have gone out: makes what was to be made soon.
  void catch_up();
  /// Removes the files of all leases that are not named: a daemon that was killed left them.
  void keep_only(const std::vector<Handle>& leases) const { files_.keep_only(leases); }

  /// Before the driver is asked, and after it has answered: what the programs have charged, of all
  /// leases unless that was told a moment ago, and of `ended` ones in any case.
  void before_question();
  std::vector<ChargeSample> charges(const std::vector<Handle>& ended);
  void set_unaccounted(Handle lease, const std::vector<Bytes>& unaccounted,
                       const std::vector<bool>& may_give_back);
  /// After charges(): what contexts cost, by this answer, and tells the programs what has changed.
  /// The answer: what is known of their costs on its devices.
  std::vector<ContextSample> learn(const Sample& sample);
  /// After that: gives back what the dead had charged and the driver has freed.
  void settle_dead(const Sample& sample);
  /// Processes of these leases may have died: before the next question it is looked for what they
  /// have charged.
  void expect_dead(const std::set<Handle>& leases) {
    expected_.insert(leases.begin(), leases.end());
  }
  /// Is told of each file in which the programs of a lease charge what they take.
  void on_made(std::function<void(Handle, const std::string& path)> made) {
    on_made_ = std::move(made);
  }
  /// When the driver should be asked again for the sake of the dead.
  Instant ask_again_at() const { return dead_.next(clock_.now()); }
  /// For leases whose files are made from now on; their place stays.
  void configure(const enforce::LeaseFiles::Settings& settings);

  /// Removes a little, if it is time. To be called when next() has come.
  void tidy();
  Instant next() const { return old_.empty() ? Instant::never() : tidy_at_; }
  /// Before the end.
  void tidy_all();

 private:
  using Budgets = std::vector<enforce::Budget>;
  struct Held {
    enforce::Holder lease;
    Budgets budgets;
    bool given_up = false;  // Its files made no sense: it is only measured from then on.
  };
  void make(Held held);
  void set(Held held);
  void warn(Handle lease, const std::string& what, const Error& error);
  void give_up(Held& held, const Error& error);
  struct Account {
    Bytes charged;
    Bytes dead;  // Of whom the driver cannot be asked.
    Bytes peak;
    Bytes wanted;
    std::uint64_t refused = 0;
    std::uint64_t changes = 0;
    std::vector<enforce::Use::Slot> contexts;  // Of those that have some, and that we know.
  };
  using Costs = std::vector<enforce::ContextCost>;
  std::optional<enforce::Use> read(Held& held);
  std::vector<Account> accounts_in(const enforce::Use& use) const;  // Of each device.
  std::vector<DeadSlots::Dead> dead_of(const Held& held, const enforce::Use& use) const;
  bool lives(const enforce::Use::Slot& slot) const;
  void look_at_contexts(const enforce::Holder& lease, DeviceId device, const Account* before,
                        const Account& account);
  Bytes excess_of(Handle lease, DeviceId device, const Account& account) const;
  Bytes context_cost(UserId user, DeviceId device) const {
    return costs_.of(user, device).value_or(guess_);
  }
  Costs published(Handle lease, std::size_t devices) const;
  void tell_contexts(Handle lease, Costs costs);
  void remove_oldest();
  void recall_costs();
  void keep_costs();

  enforce::LeaseFiles files_;
  const os::Clock& clock_;
  std::function<void(const std::string&)> warn_;
  std::function<bool(Process)> is_alive_;
  std::function<void(Handle, const std::string&)> on_made_;
  std::map<Handle, Held> new_;  // To be made.
  std::map<Handle, Held> made_;
  std::map<Handle, enforce::Paused> paused_;       // Not the many that are not.
  std::map<Handle, std::vector<Account>> before_;  // As it was when the driver was asked.
  Instant read_at_;
  bool read_all_ = false;
  std::set<Handle> expected_;
  ContextCosts costs_;
  struct {
    std::string path;
    std::string text;  // As it was written last.
  } costs_file_;
  Bytes guess_;
  std::vector<ContextLook> looks_;
  DeadSlots dead_;
  std::map<Handle, Costs>
      published_;           // None before the first look: the file may say anything then.
  std::deque<Handle> old_;  // To be removed.
  Instant tidy_at_ = Instant::never();
};

}  // namespace berth::server
