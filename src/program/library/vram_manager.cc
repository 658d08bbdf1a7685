// SPDX-License-Identifier: Apache-2.0
#include "library/vram_manager.h"

#include <algorithm>
#include <utility>

#include "library/error.h"

namespace berth::library {
namespace {

constexpr Duration kSampleEvery = milliseconds(100);

Duration duration_of(std::uint64_t ns, Duration otherwise) {
  return ns == 0 ? otherwise : age_of(ns);
}

vram::Limit limit_of(std::uint64_t bytes, double share, vram::Limit otherwise) {
  if (bytes > 0) return {.bytes = Bytes{bytes}, .share = 0};
  if (share != 0) return {.bytes = {}, .share = share};
  return otherwise;
}

Result<vram::Settings> settings_of(const berth_vram_options& options) {
  vram::Settings settings;
  vram::Limits& limits = settings.limits;
  limits.warn = limit_of(options.warn_bytes, options.warn_share, limits.warn);
  limits.cleanup = limit_of(options.cleanup_bytes, options.cleanup_share, limits.cleanup);
  limits.critical = limit_of(options.critical_bytes, options.critical_share, limits.critical);
  TRY_STATUS(vram::check(limits));
  if (options.basis > BERTH_BASIS_ALLOCATOR) {
    return Error{Errc::kInvalid,
                 "basis is none of BERTH_BASIS_…: " + std::to_string(options.basis)};
  }
  settings.cleanup_every = options.cleanup_every;
  settings.checkpoint_cool_down =
      duration_of(options.checkpoint_cool_down_ns, settings.checkpoint_cool_down);
  return settings;
}

std::uint32_t bit_of(vram::Action action) {
  return 1U << static_cast<unsigned>(action);
}

vram::Outcome outcome_of(std::int32_t out) {
  if (out == BERTH_DONE) return vram::Outcome::kDone;
  return out == BERTH_UNCONFIRMED ? vram::Outcome::kUnconfirmed : vram::Outcome::kNotDone;
}

// Calls what a program has given us: what it throws stops here.
template <class Call>
berth_status call(const char* name, Call callback) {
  try {
    callback();
  } catch (...) {
    return fail(BERTH_CALLBACK, std::string("the callback ") + name + " threw an exception");
  }
  return BERTH_OK;
}

using Told = int32_t (*)(void*, std::uint32_t, std::uint64_t*);
std::optional<Bytes> ask(Told function, const berth_provider& provider, std::uint32_t device) {
  if (function == nullptr) return std::nullopt;
  std::uint64_t bytes = 0;
  std::int32_t result = 1;
  (void)call("of the provider", [&] { result = function(provider.user, device, &bytes); });
  return result == 0 ? std::optional(Bytes{bytes}) : std::nullopt;
}

Bytes freed_between(std::optional<Bytes> before, std::optional<Bytes> after) {
  return before && after ? saturating_sub(*before, *after) : Bytes{};
}

}  // namespace

// One thread's turn: a step, a cleanup. Ends when it dies.
class VramManager::BusyScope {
 public:
  explicit BusyScope(VramManager& manager) : manager_(manager) {
    const std::lock_guard lock(manager_.mutex_);
    taken_ = !manager_.in_turn_;
    manager_.in_turn_ = true;
  }
  ~BusyScope() {
    if (!taken_) return;
    const std::lock_guard lock(manager_.mutex_);
    manager_.in_turn_ = false;
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;
  bool taken() const { return taken_; }
  static berth_status busy() {
    return fail(BERTH_BUSY,
                "a step or cleanup of this manager is under way, in another thread or in a "
                "callback of this one");
  }

 private:
  VramManager& manager_;
  bool taken_ = false;
};

Result<std::shared_ptr<VramManager>> VramManager::create(  // As handles are, shared.
    std::shared_ptr<Session> session,                      // Which may be closed before this.
    const berth_vram_options& options) {
  TRY(settings, settings_of(options));
  if (session != nullptr && session->device_count() > 0 &&
      options.device >= session->device_count()) {
    return Error{Errc::kInvalid, session->no_device(options.device).message};
  }
  // A handle shares it with a call that is under way.
  return std::make_shared<VramManager>(std::move(session), options, settings);
}

VramManager::VramManager(std::shared_ptr<Session> session,  // As the header says.
                         const berth_vram_options& options, vram::Settings settings)
    : session_(std::move(session)),
      options_(options),
      sample_every_(duration_of(options.sample_every_ns, kSampleEvery)),
      manager_(settings) {}

void VramManager::set_provider(const berth_provider& provider) {
  const std::lock_guard lock(mutex_);
  means_.provider = provider;
}

void VramManager::set_callbacks(const berth_vram_callbacks& callbacks) {
  const std::lock_guard lock(mutex_);
  means_.callbacks = callbacks;
}

VramManager::Means VramManager::means() {
  const std::lock_guard lock(mutex_);
  return means_;
}

berth_status VramManager::step(berth_vram_report& report) {
  const BusyScope busy_scope(*this);
  if (!busy_scope.taken()) return BusyScope::busy();
  const Means means = this->means();
  const Instant at = clock_.now();
  vram::Sample sample;
  if (at - sampled_at_ >= sample_every_) {
    sampled_at_ = at;
    sample = this->sample(means, sample_every_);
    sample.host = host_memory_used();
  } else {
    sample.own = ask(means.provider.allocated, means.provider, options_.device);
  }
  Bytes freed_before;
  {
    const std::lock_guard lock(mutex_);
    const vram::Now now = this->now();
    freed_before = {manager_.counts().freed_bytes};
    if (const auto left = std::exchange(wanted_, std::nullopt)) {
      manager_.done(now, *left, vram::Outcome::kNotDone, {});
    }
    manager_.step(now, sample);
  }
  const berth_status acted = run_actions(means, report);
  const berth_status out = tell_events(means);

  const std::lock_guard lock(mutex_);
  report.level = static_cast<std::uint32_t>(manager_.level());
  report.step = manager_.counts().steps;
  report.used_known = manager_.used() ? 1 : 0;
  report.used_bytes = manager_.used().value_or(Bytes{}).value;
  report.whole_bytes = manager_.whole().value_or(Bytes{}).value;
  report.freed_bytes = manager_.counts().freed_bytes - freed_before.value;
  return acted != BERTH_OK ? acted : out;
}

berth_status VramManager::run_actions(const Means& means, berth_vram_report& report) {
  berth_status status = BERTH_OK;
  while (true) {
    std::optional<vram::Action> action;
    {
      const std::lock_guard lock(mutex_);
      action = manager_.next(now());
    }
    if (!action) return status;
    Did did;
    const bool can = *action == vram::Action::kCleanup
                         ? means.callbacks.act != nullptr || means.provider.empty_cache != nullptr
                         : means.callbacks.act != nullptr;
    if (!can) {
      const std::lock_guard lock(mutex_);
      wanted_ = action;
      report.wanted = bit_of(*action);
      return status;
    }
    const berth_status performed = perform(means, *action, did);
    if (performed != BERTH_OK) status = performed;
    if (did.outcome == vram::Outcome::kDone) report.done |= bit_of(*action);
    const std::lock_guard lock(mutex_);
    manager_.done(now(), *action, did.outcome, did.after, did.freed);
  }
}

berth_status VramManager::perform(const Means& means, vram::Action action, Did& did) {
  if (action == vram::Action::kCleanup) return clean(means, did);
  return call("act", [&] {
    did.outcome = outcome_of(means.callbacks.act(means.callbacks.user, bit_of(action)));
  });
}

// The program drops what it holds first, then the framework gives its cache back, and then the
// device has done all that was asked of it.
berth_status VramManager::clean(const Means& means, Did& did) {
  const auto reserved = [&] {
    return ask(means.provider.reserved_bytes, means.provider, options_.device);
  };
  const std::optional<Bytes> reserved_before = reserved();
  const vram::Sample before = sample(means, Duration{});
  berth_status status = BERTH_OK;
  bool any = false;
  if (means.callbacks.act != nullptr) {
    status = call("act", [&] {
      const auto out = means.callbacks.act(means.callbacks.user, bit_of(vram::Action::kCleanup));
      any = outcome_of(out) != vram::Outcome::kNotDone;
    });
  }
  const auto tell_provider = [&](std::int32_t (*function)(void*, std::uint32_t)) {
    if (function == nullptr) return false;
    bool is_done = false;
    const berth_status called = call(
        "of the provider", [&] { is_done = function(means.provider.user, options_.device) == 0; });
    if (called != BERTH_OK) status = called;
    return is_done;
  };
  any |= tell_provider(means.provider.empty_cache);
  if (any) (void)tell_provider(means.provider.synchronize);
  did.outcome = any ? vram::Outcome::kDone : vram::Outcome::kNotDone;
  did.after = sample(means, Duration{});
  did.freed = reserved_before ? freed_between(reserved_before, reserved())
                              : freed_between(before.used, did.after.used);
  return status;
}

berth_status VramManager::answer(std::uint32_t action, std::int32_t outcome) {
  const Means means = this->means();
  vram::Sample after;
  if (action == BERTH_CLEANUP) after = sample(means, Duration{});
  {
    const std::lock_guard lock(mutex_);
    const auto wanted = wanted_;
    if (!wanted || bit_of(*wanted) != action) {
      return fail(BERTH_INVALID, "nothing like that was asked for: " + std::to_string(action));
    }
    wanted_.reset();
    const Bytes freed = freed_between(manager_.used(), after.used);
    manager_.done(now(), *wanted, outcome_of(outcome), after, freed);
  }
  return tell_events(means);
}

berth_status VramManager::cleanup(std::uint64_t& freed) {
  const BusyScope busy_scope(*this);
  if (!busy_scope.taken()) return BusyScope::busy();
  const Means means = this->means();
  Did did;
  const berth_status cleaned = clean(means, did);
  freed = did.freed.value;
  if (did.outcome == vram::Outcome::kNotDone) {
    return cleaned != BERTH_OK ? cleaned
                               : fail(BERTH_UNAVAILABLE,
                                      "nothing was cleaned up: the provider and the callbacks "
                                      "have no way to, or failed");
  }
  {
    const std::lock_guard lock(mutex_);
    manager_.cleaned(now(), did.after, did.freed);
  }
  const berth_status out = tell_events(means);
  return cleaned != BERTH_OK ? cleaned : out;
}

// Where nobody is told at once, the events are kept until the program asks.
berth_status VramManager::tell_events(const Means& means) {
  if (means.callbacks.event == nullptr) return BERTH_OK;
  berth_status status = BERTH_OK;
  while (true) {
    std::optional<vram::Event> event;
    {
      const std::lock_guard lock(mutex_);
      event = manager_.take_event();
    }
    if (!event) return status;
    berth_event out = to_c(*event);
    out.size = sizeof out;
    const berth_status called =
        call("event", [&] { means.callbacks.event(means.callbacks.user, &out); });
    if (called != BERTH_OK) status = called;
  }
}

vram::Sample VramManager::sample(const Means& means, Duration age_max) {
  vram::Sample sample;
  const Measured measured =
      session_ == nullptr ? Measured{} : session_->measure(options_.device, age_max);
  watch(measured, means, sample);
  sample.own = ask(means.provider.allocated, means.provider, options_.device);
  if (!sample.own) sample.own = measured.own.bytes;
  return sample;
}

void VramManager::watch(const Measured& measured, const Means& means, vram::Sample& sample) const {
  const std::optional<Bytes> of_lease =
      measured.lease_used.bytes ? measured.lease_used.bytes : measured.own.bytes;
  std::uint32_t basis = options_.basis;
  if (basis == BERTH_BASIS_AUTO) {
    basis = BERTH_BASIS_ALLOCATOR;
    if (measured.used.bytes) basis = BERTH_BASIS_DEVICE;
    if (measured.budget.bytes && of_lease) basis = BERTH_BASIS_BUDGET;
  }
  if (basis == BERTH_BASIS_BUDGET) {
    sample.used = of_lease;
    sample.whole = measured.budget.bytes;
  } else if (basis == BERTH_BASIS_DEVICE) {
    sample.used = measured.used.bytes;
    sample.whole = measured.total.bytes;
  } else {
    sample.used = ask(means.provider.reserved_bytes, means.provider, options_.device);
    sample.whole = measured.budget.bytes ? measured.budget.bytes : measured.total.bytes;
  }
}

berth_measurement VramManager::measure(Duration age_max) {
  const Means means = this->means();
  const Measured measured =
      session_ == nullptr ? Measured{} : session_->measure(options_.device, age_max);
  const Instant at = clock_.now();
  const auto out = [&](std::optional<Bytes> bytes, std::uint32_t source) {
    return to_c(Figure{bytes, at, source}, at);
  };
  return {
      .device = options_.device,
      .device_total = to_c(measured.total, at),
      .device_used = to_c(measured.used, at),
      .device_free = to_c(measured.free, at),
      .process_used = to_c(measured.own, at),
      .lease_used = to_c(measured.lease_used, at),
      .lease_budget = to_c(measured.budget, at),
      .provider_allocated =
          out(ask(means.provider.allocated, means.provider, options_.device), BERTH_FROM_PROVIDER),
      .provider_reserved = out(ask(means.provider.reserved_bytes, means.provider, options_.device),
                               BERTH_FROM_PROVIDER),
      .host_used = out(host_memory_used(), BERTH_FROM_KERNEL),
  };
}

void VramManager::count_copy(Bytes bytes) {
  const std::lock_guard lock(mutex_);
  manager_.count_copy(bytes);
}

berth_status VramManager::phase(const std::string& name) {
  const Means means = this->means();
  const vram::Sample sample = this->sample(means, Duration{});
  const auto allocated = ask(means.provider.allocated, means.provider, options_.device);
  {
    const std::lock_guard lock(mutex_);
    manager_.phase(now(), name, sample, allocated);
  }
  return tell_events(means);
}

std::vector<vram::Phase> VramManager::phases() {
  const std::lock_guard lock(mutex_);
  return {manager_.phases().begin(), manager_.phases().end()};
}

berth_vram_counts VramManager::counts() {
  const std::lock_guard lock(mutex_);
  const vram::Counts& counts = manager_.counts();
  const vram::Thresholds thresholds = manager_.thresholds().value_or(vram::Thresholds{});
  return {
      .level = static_cast<std::uint32_t>(manager_.level()),
      .steps = counts.steps,
      .copies = counts.copies,
      .copied_bytes = counts.copied_bytes,
      .cleanups = counts.cleanups,
      .freed_bytes = counts.freed_bytes,
      .checkpoints = counts.checkpoints,
      .warn_bytes = thresholds.warn.value,
      .cleanup_bytes = thresholds.cleanup.value,
      .critical_bytes = thresholds.critical.value,
      .leaks = manager_.leak().leaks ? 1U : 0U,
      .leaks_host = manager_.host_leak().leaks ? 1U : 0U,
      .growth_per_step = manager_.leak().growth_per_step,
      .host_growth_per_step = manager_.host_leak().growth_per_step,
  };
}

std::string VramManager::status_line() {
  const std::lock_guard lock(mutex_);
  return manager_.status_line();
}

std::optional<vram::Event> VramManager::next_event() {
  const std::lock_guard lock(mutex_);
  return manager_.take_event();
}

berth_event to_c(const vram::Event& event) {
  berth_event out{};
  out.kind = static_cast<std::uint32_t>(event.kind);
  out.number = event.number;
  out.step = event.step;
  out.time_unix_ms = static_cast<std::uint64_t>(event.time.value);
  out.used_known = event.used ? 1 : 0;
  out.used_bytes = event.used.value_or(Bytes{}).value;
  out.whole_bytes = event.whole.value_or(Bytes{}).value;
  out.bytes = event.bytes;
  out.copies = event.copies;
  out.level = static_cast<std::uint32_t>(event.level);
  out.action = bit_of(event.action);
  out.value = event.value;
  copy_text(out.name, event.name);
  copy_text(out.text, event.text);
  return out;
}

}  // namespace berth::library
