// SPDX-License-Identifier: Apache-2.0
// The inside of the coordinator, for src/core alone. State survives and changes by records only;
// Observed is known of a lease beside it, and dies with the daemon; reindex() derives the rest.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/coordinator.h"
#include "core/escalation_state.h"
#include "core/ledger.h"
#include "core/observed.h"
#include "core/pressure.h"
#include "core/queue.h"
#include "core/slicing.h"
#include "core/state.h"
#include "model/device.h"

namespace berth::core {

class Walk;

/// Who of those that run in turns comes next on a device.
using NextTurns = std::map<DeviceId, LeaseId>;

struct Coordinator::Impl {
  explicit Impl(Settings with) : settings(std::move(with)) {}

  Settings settings;
  State state;
  std::map<LeaseId, Observed> observed;

  // Derived.
  Ledger ledger;
  Queue queue;
  std::set<std::pair<Instant, LeaseId>> timers;
  std::set<std::pair<Process, LeaseId>> watches;  // Who waits for the end of which process.
  std::set<Belonging> belongings;                 // Whose use of a device counts for whom.
  std::map<Handle, LeaseId> by_handle;
  std::map<UserId, UserCount> users;
  std::set<LeaseId> growing;    // Or wanted back.
  std::set<LeaseId> yielding;   // Suspended to make room for an urgent request.
  std::set<LeaseId> measuring;  // A measure is under way on them.
  std::set<LeaseId>
      displaced;  // Suspended for what unmanaged processes took: they come back by themselves.
  std::set<LeaseId> resuming;  // Wait for a sample that tells of room for what they had.
  Queue turns;                 // Those that wait for a turn, the first or the next.
  std::set<LeaseId> ending_turn;
  std::set<LeaseId> turn_timers;          // Have a turn_over.
  std::map<LeaseId, Instant> turn_comes;  // Of those that are next somewhere.
  std::uint64_t moves = 0;
  std::uint64_t version = 0;
  std::uint64_t queue_version = 0;  // Who waits, and how they are ranked.

  // What the last samples said.
  std::map<DeviceId, KnownDevice> seen_devices;
  std::map<std::pair<UserId, DeviceId>, Bytes> contexts;  // What they cost, where it was measured.
  std::set<LeaseId> measured;          // Leases with a figure in the last sample.
  std::set<LeaseId> settling;          // Leases that wait for a sample.
  std::set<LeaseId> shrunk;            // The same, of which the budget fell.
  std::set<LeaseId> just_swapped_out;  // The same, of which the memory was moved to the host.
  std::set<LeaseId> unchecked;         // Requests made when no device was known: one may never fit.
  std::map<LeaseId, std::vector<Stray>> strays;
  Instant announcing_since;               // Of unmanaged processes, in this minute,
  std::uint32_t unmanaged_announced = 0;  // and of how many.
  bool sample_seen = false;
  bool simulated = false;
  std::string trouble;
  std::string driver_version;  // Empty if unknown.

  std::string journal_full_where;  // Not empty: nothing is granted.
  bool safe_mode = false;
  bool full_walk = false;  // Tests alone set it: each request is looked at, whatever the bounds.

  // Of the step under way.
  Now now;
  std::vector<Effect> effects;
  std::vector<std::pair<Token, LeaseId>> answers;  // Given at the end, when all is decided.
  std::optional<LeaseId> asking;                   // Its asker is answered by this step.
  bool dirty = false;                              // The schedule must be looked at.
  std::optional<Instant> wake_at;                  // What was last asked for.
  std::optional<Instant> probe_at;

  // Answers of views, remembered while nothing changes.
  struct OrderCache {
    std::uint64_t version = 0;
    Instant at;
    std::vector<LeaseId> order;
    std::vector<std::pair<LeaseId, std::uint32_t>> places;  // By id; counted from 1.
    std::optional<std::uint32_t> position(LeaseId id) const;
  };
  mutable std::optional<OrderCache> order_cache;

  // coordinator.cc: deciding and deriving.
  std::vector<Effect> step(Now at, const Event& event);
  void decide(LeaseId id, Fact fact);
  void reindex(LeaseId id);
  void reindex_queue(const Lease* lease, Observed& seen);
  void reindex_turns(LeaseId id, const Lease* lease, Observed& seen);
  void reindex_ledger(LeaseId id, const Lease* lease, Observed& seen);
  void reindex_processes(LeaseId id, const Lease* lease, Observed& seen);
  void rewatch(LeaseId id, Observed& seen, std::vector<Process> watch);
  void reindex_user(const Lease* lease, Observed& seen);
  void reindex_timer(LeaseId id, const Lease* lease, Observed& seen);
  void answer(Token token, LeaseId id) { answers.emplace_back(token, id); }
  void refuse(Token token, RefusalCode code, std::string message);
  void notify(LeaseId id, LeaseEvent news, std::vector<Refusal> refusal = {});
  void ask_probe(Instant at);
  Instant deadline_of(const Lease& lease, const Observed& seen) const;
  bool may_grant() const { return journal_full_where.empty() && !safe_mode; }
  const UserLimits& limits_of(UserId user) const;

  // requests.cc: what askers do.
  void on(const Submit& event);
  void on(const Reconnect& event);
  void on(const Claim& event);
  void on(const Join& event);
  void on(const Park& event);
  void on(const RequesterGone& event);
  Request with_learned_size(Request request, UserId user) const;
  std::optional<Refusal> refuse_request(const Request& request, Actor actor) const;
  std::optional<Refusal> refuse_shape(const Request& request) const;
  std::variant<std::vector<DeviceId>, Refusal> devices_named(
      const std::vector<DeviceName>& names) const;
  std::optional<Refusal> refuse_devices(const Request& request, UserId user) const;
  Bytes context_cost(UserId user, DeviceId device) const;
  static Refusal below_a_context(Bytes asked, Bytes least);
  Bytes dearest_context(const Lease& lease) const;  // Of its devices, for its user.
  std::optional<Refusal> refuse_user(const Request& request, UserId user) const;
  std::optional<Refusal> refuse_ancestors(const Request& request) const;
  const Lease* lease_of(Token token, Actor actor, Handle handle);
  const Lease* lease_of(Token token, Actor actor, LeaseId id);

  // lifecycle.cc: how leases end.
  void on(const ReportExit& event);
  void on(const Release& event);
  void on(const Renew& event);
  void on(const ProcessEnded& event);
  void on(const Woke& event);
  void on_due(LeaseId id);
  void requester_stays_away(LeaseId id);
  void process_ended(LeaseId id, Process process);
  void command_finished(LeaseId id);
  void start_releasing(LeaseId id, EndResult result, std::optional<UserId> by = {});
  static bool would_run_on(const Held& held, const Release& event);
  void end_growth(LeaseId id);
  void end_waiting(LeaseId id, EndResult result, std::vector<Refusal> refusal,
                   std::optional<UserId> by = {});
  void lapse(LeaseId id, bool parked);
  void leave_to_unmanaged(LeaseId id);
  void revoke(LeaseId id, EndResult result, std::optional<UserId> by = {});
  void send_signal(LeaseId id, std::int32_t signal);
  void kill_programs(LeaseId id);
  void settle(LeaseId id);
  void finish_if_free(LeaseId id);
  static Duration report_within(const Lease& lease);
  static std::optional<Instant> ends_wait(const Lease& lease);
  void answer_exit(LeaseId id);
  EndResult result_of(const Held& held) const;

  // progress.cc
  void on(const ReportProgress& event);
  static std::optional<Refusal> refuse_progress(const Lease& lease, const ReportProgress& event);

  // resizing.cc
  void on(const Resize& event);
  void on(const GrowthRequesterGone& event);
  void resize(LeaseId id, Share share, std::vector<Part> parts);
  bool try_growth(LeaseId id);
  void take_back_resize(LeaseId id);
  void drop_growth(LeaseId id, std::optional<Refusal> refusal);
  std::optional<Refusal> refuse_growth(const Lease& lease, Bytes vram) const;
  void resize_to_exclusive(const Resize& event, const Lease& lease);

  // checkpoints.cc
  void on(const AskCheckpoint& event);
  void on(const ReportCheckpoint& event);
  void ask_checkpoint(LeaseId id, CheckpointReason reason);
  void end_checkpoint(LeaseId id, CheckpointOutcome outcome, std::string detail);
  Instant checkpoint_due(const Lease& lease, const Observed& seen) const;
  bool tend_checkpoints(LeaseId id);
  std::optional<Refusal> refuse_checkpoint(const Lease& lease) const;
  std::optional<Refusal> refuse_checkpoint_way(const Request& request) const;

  // requeuing.cc
  void on(const AskRequeue& event);
  void on(const BeginRequeue& event);
  std::optional<Refusal> refuse_requeue(const Lease& lease) const;
  void ask_requeue(LeaseId id, RequeueTerms terms);
  void requeue_after_save(LeaseId id);
  void ask_to_stop(LeaseId id);
  void drop_requeue(LeaseId id, const std::string& why, EndResult result = EndResult::kLost);
  void nobody_starts_it_again(LeaseId id);
  void wait_again(LeaseId id);

  // yielding.cc
  void make_room_for_urgent();
  std::optional<std::vector<LeaseId>> who_makes_room(const Lease& urgent,
                                                     const Account& account) const;
  bool may_yield_to(const Lease& lease, const Lease& urgent) const;
  bool is_not_there(const Lease& lease) const;
  void resume_yielded();

  // suspending.cc
  void on(const Suspend& event);
  void on(const Resume& event);
  void note_pause(LeaseId id, const PauseTerms& terms, UserId by);
  static Instant pause_due(const Held& held, const Observed& seen);
  bool tend_pause(LeaseId id);
  void resume(LeaseId id, std::optional<Token> token);
  void on(const TransferDone& event);
  void take_result(const TransferDone& event);
  void suspend(LeaseId id, const SuspendCause& leave);
  void begin_transfer(LeaseId id, Direction direction);
  void add_inner_processes(LeaseId id, std::vector<Process>& processes) const;
  void begin_swap_in(LeaseId id);
  bool is_to_be_measured(const Lease& lease) const;
  bool has_account(const Lease& lease, std::size_t i) const;
  Bytes bytes_before_suspend(const Lease& lease, std::size_t i) const;
  Bytes resume_requirement(const Lease& lease, std::size_t i) const;
  bool may_swap_in(LeaseId id) const;
  bool try_resume(LeaseId id);
  void swap_in_where_confirmed(const Sample& sample);
  bool has_room_for(const Lease& lease) const;
  void note_left_alone(const TransferDone& event);
  void on(const NotSignalled& event);
  void swapped_out(LeaseId id, const TransferResult& result);
  static std::vector<Bytes> measured_of(const Lease& lease, const TransferResult& result);
  void swapped_in(LeaseId id, const TransferResult& result);
  void end_suspension(LeaseId id);
  void answer_transfer_waiters(LeaseId id, const std::string& why_not = {});

  // moving.cc
  void on(const Migrate& event);
  std::optional<Refusal> refuse_migration(const Lease& lease) const;
  std::optional<Refusal> refuse_places(const Lease& lease, const std::vector<DeviceId>& to) const;
  std::optional<Refusal> refuse_place(const Lease& lease, std::size_t i, DeviceId to) const;
  Bytes observed_use(LeaseId id, DeviceId device) const;
  std::optional<std::string> too_large_for(LeaseId id, const std::vector<DeviceId>& to) const;
  void migrate(LeaseId id, const std::vector<DeviceId>& to, std::optional<UserId> by);
  void undo_migration(LeaseId id, const std::string& why);
  static bool is_all_there(const Lease& lease, const Sample& sample);
  static std::vector<DevicePair> pairs_of(const Held& held);

  // slices.cc
  std::optional<Refusal> refuse_slice(const Request& request) const;
  static bool wants_turn(const Lease& lease);
  Bytes turn_needs(const Lease& lease) const;
  bool comes_free(LeaseId id, DeviceId device) const;
  bool resumes_alone(const Account& account, const Lease& lease) const;
  bool fits_without_slices(const Account& account, const Lease& lease) const;
  std::vector<FirstTurn> first_turns() const;
  std::optional<DeviceId> room_is_made_on(LeaseId id) const;
  NextTurns next_turns() const;
  bool may_end_turn(const Lease& lease) const;
  Instant turn_over_at(const Lease& lease) const;
  TurnEnds room_for_turn(const Account& account, const Lease& lease) const;
  void take_turns();
  void end_turn(LeaseId id, LeaseId next);

  // freezing.cc
  void on(const Freeze& event);
  void freeze_done(LeaseId id, const TransferResult& result);
  bool is_freezing(const Observed& seen) const;
  void thaw(LeaseId id);
  void restore_frozen(LeaseId id);
  void answer_freeze_waiters(LeaseId id, const std::string& why_not = {});

  // sampling.cc
  void on(const Sampled& event);
  void refuse_what_never_fits(const Sample& sample);
  void update_accounts(const Sample& sample);
  void update_account(const DeviceSample& device, const Sample& sample);
  void attribute(const DeviceSample& device, Instant asked_at, std::set<LeaseId>& touched);
  std::optional<LeaseId> belongs_to(Process process, bool certain) const;
  std::optional<LeaseId> lease_of_process(const ProcessSample& process, DeviceId device) const;
  std::optional<LeaseId> lease_that_had(std::int32_t pid, DeviceId device) const;
  void settle_with(const Sample& sample);
  bool may_be_brought_back(const Lease& lease) const;
  void settle_one(LeaseId id);
  void announce_budget(LeaseId id);
  void announce_full(LeaseId id);
  void announce_lost(LeaseId id);
  bool tells_who_is_left(DeviceId device) const;
  bool sleeps(DeviceId device) const;
  std::vector<const Account*> sampled_accounts(const Sample& sample) const;
  static std::vector<LeaseId> leases_on(const std::vector<const Account*>& accounts);
  void believe_shrunk(const Sample& sample, std::set<LeaseId>& touched);
  void believe_swapped_out(const Sample& sample, std::set<LeaseId>& touched);
  void compare(const Sample& sample);
  bool account_for(const ChargeSample& charge, const Lease& lease, Use& use) const;
  std::vector<Peak> peaks_of(const Lease& lease) const;
  void ask_probe_again(Instant asked_at);

  // unmanaged.cc: processes on devices that they were not given.
  void account_unmanaged(const DeviceSample& device, const Attributed& sums);
  void count_left_behind(const Sample& sample);
  void look_for_strays();
  void look_for_unmanaged(const Sample& sample);
  void announce_strays(LeaseId id, const std::vector<Stray>& found);
  void announce_unmanaged(const Account& account, const UnmanagedProcess& unmanaged_process,
                          bool gone);
  bool may_announce_unmanaged();

  // over_budget.cc
  void weigh(LeaseId id, Instant asked_at);
  Ladder ladder_above_budget(const Lease& lease) const;

  // ladder.cc
  void escalate_all(const Sample& sample);
  void escalate_lease(LeaseId id, Instant at);
  void escalate(LeaseId id, Cause cause, const Ladder& ladder, Instant at);
  std::size_t escalate_from(std::size_t next, LeaseId id, Cause cause, const Ladder& ladder,
                            Duration lasted);
  void escalate_for_unmanaged(const Account& account, Instant at);
  bool endangers_others(const Lease& lease) const;
  std::optional<LeaseId> next_victim(const Account& account, const KnownDevice& device,
                                     Instant at) const;
  void resume_displaced(const Account& account);
  void notify_of_measure(LeaseId id, Cause cause, const Ladder& ladder);

  // measures_taken.cc
  void take(LeaseId id, Cause cause, Measure measure);
  std::optional<std::string> why_not_taken(const Lease& lease, Measure measure) const;
  std::optional<std::string> why_not_suspended(const Lease& lease) const;
  void perform(LeaseId id, Measure measure);
  std::optional<MeasureEnded> outcome_of(const Lease& lease) const;
  bool was_sampled_since(const Held& held, Instant since) const;
  void tend_measures();
  bool tend_late_measure(LeaseId id);
  void end_measure(MeasureEnded fact);
  static Instant measure_due(const Lease& lease);

  // pressure.cc
  void update_pressure(const Sample& sample);
  void update_pressure_on(const Account& account, Instant at);
  void update_pressure_of(LeaseId id, Instant at);
  bool gets_worse(const Account& account) const;

  // scheduling.cc
  void settle();
  void schedule();
  bool grant_one();
  bool nobody_fits(const Walk& walk) const;
  std::vector<LeaseId> in_order_of_resumption() const;
  bool takes_part(const Lease& lease) const;
  bool keeps_place(const Lease& lease) const;
  bool is_offerable(const Lease& lease) const;
  bool user_has_room(const Lease& lease) const;
  void grant(LeaseId id, const std::vector<Part>& parts, bool passed_others);
  bool mark_passed(const std::vector<const Lease*>& ahead, const std::vector<Part>& parts);

  // operating.cc: configuration, recovery, the journal.
  void on(const Configured& event);
  void on(const Recovered& event);
  void on(const JournalFailed& event);
  void on(const JournalMended& event);

  // views.cc, why.cc
  LeaseView with_indices(LeaseView view) const;
  LeaseView view(LeaseId id, Instant at, UnixMs wall) const;
  const OrderCache& order(Instant at) const;
  std::variant<FitView, Refusal> fit(const Request& asked, Actor actor, Now at);
  WhyView why(const Lease& lease, Now at) const;
  void add_shortages(const Request& request, WhyView& view) const;
  void add_turns(const Lease& lease, WhyView& view, Now at) const;
  WhyView::Reason reason_of(const Lease& lease, const WhyView& view) const;
  void add_holders(const Lease& lease, WhyView& view, Now at) const;
  void add_start(const Lease& lease, WhyView& view, Now at) const;
  Instant when_user_has_room(const Lease& lease, Instant at) const;
  std::optional<LoweredLimit> lowered_limit(const Lease& lease) const;
  std::string shortage_text(const Request& request, UserId user) const;
  void check_everything() const;

  // halts.cc: why a lease that was granted does not run.
  std::optional<Halt> halt_of(const Lease& lease, Now at) const;
  void add_halt(const Lease& lease, WhyView& view, Now at) const;

  // remedies.cc: what would help, tried in copies.
  void requeue_places();
  bool can_migrate(const Lease& lease) const;
  std::optional<Remedy> remedy_for(Remedy::Kind kind, const Lease& holder) const;
  bool begin(const Remedy& remedy, LeaseId id);
  bool begin_requeue(const Lease& lease);
  void end_processes(Remedy::Kind kind, LeaseId id);
  bool come_free(Remedy::Kind kind, LeaseId id);
  bool carry_out(const std::vector<Remedy>& remedies);
  std::optional<LeaseId> ask_instead(LeaseId waiter, Request request);
};

/// As messages name it.
inline std::string text_of(LeaseId id) {
  return "lease " + std::to_string(id.value);
}

/// When its programs, which were told to end, get a SIGKILL; none when it is not being released.
std::optional<Instant> kill_due(const Lease& lease, const Observed& seen);

/// The wall time of an instant, as seen from `now`.
inline UnixMs wall_at(Instant instant, Now now) {
  return {now.wall.value + (instant - now.instant).ns / 1'000'000};
}

/// When its pause ends, if it does by itself: by the clock as it is, which may have been set since.
inline std::optional<UnixMs> pause_end(const Held& held, Now now) {
  return held.pause_ends ? std::optional(wall_at(*held.pause_ends, now)) : std::nullopt;
}

}  // namespace berth::core
