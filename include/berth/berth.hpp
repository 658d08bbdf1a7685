// SPDX-License-Identifier: Apache-2.0
// The C++17 interface of libberth, over berth/berth.h: handles that close themselves, callbacks
// that may be any function object, and a step that is tried again in smaller pieces when memory
// runs out. Nothing here throws; what the program's own functions throw goes through, or is told as
// the C interface tells it. Threads: as there.
#pragma once

#include <berth/berth.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace berth {

/// What a call has left: good, or a status with a sentence.
class [[nodiscard]] Done {
 public:
  Done() = default;
  /// Of a C function that this thread has just called.
  explicit Done(berth_status status)
      : status_(status), text_(status == BERTH_OK ? "" : berth_last_error()) {}
  bool ok() const { return status_ == BERTH_OK; }
  explicit operator bool() const { return ok(); }
  berth_status status() const { return status_; }
  const std::string& text() const { return text_; }

 private:
  berth_status status_ = BERTH_OK;
  std::string text_;
};

/// A value, or why there is none.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}
  Expected(Done done) : done_(std::move(done)) {}
  bool ok() const { return value_.index() == 1; }
  explicit operator bool() const { return ok(); }
  T& operator*() { return *std::get_if<T>(&value_); }
  const T& operator*() const { return *std::get_if<T>(&value_); }
  T* operator->() { return std::get_if<T>(&value_); }
  const T* operator->() const { return std::get_if<T>(&value_); }
  const Done& error() const { return done_; }

 private:
  std::variant<std::monostate, T> value_;
  Done done_;
};

/// Bytes that are known, or not.
inline std::optional<std::uint64_t> known(const berth_figure& figure) {
  if (figure.source == BERTH_UNKNOWN) return std::nullopt;
  return figure.bytes;
}

/// A handle that closes itself.
template <berth_status (*kClose)(std::uint64_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(std::uint64_t value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, 0)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() {
    if (value_ != 0) (void)kClose(value_);
  }
  std::uint64_t get() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// The lease and the devices of this process.
class Session {
 public:
  static Expected<Session> attach(std::uint32_t flags = 0) {
    berth_session_options options{};
    options.size = sizeof options;
    options.flags = flags;
    berth_session handle = 0;
    Done done(berth_attach(&options, &handle));
    if (!done) return done;
    return Session(handle);
  }
  Expected<berth_session_facts> facts() const {
    berth_session_facts facts{};
    facts.size = sizeof facts;
    Done done(berth_session_describe(get(), &facts));
    if (!done) return done;
    return facts;
  }
  /// No figure is older than so many nanoseconds; 0: all are measured now.
  Expected<berth_measurement> measure(std::uint32_t device = 0,
                                      std::uint64_t age_max_ns = 0) const {
    berth_measurement measured{};
    measured.size = sizeof measured;
    Done done(berth_measure(get(), device, age_max_ns, &measured));
    if (!done) return done;
    return measured;
  }
  /// As berth_report_progress(), as often as the program likes. A total of 0: unknown.
  Done report_progress(std::uint64_t done, std::uint64_t total = 0, const char* note = nullptr,
                       std::uint64_t left_ms = 0) const {
    berth_progress progress{};
    progress.size = sizeof progress;
    progress.done = done;
    progress.total = total;
    progress.left_ms = left_ms;
    progress.note = note;
    return Done(berth_report_progress(get(), &progress));
  }
  /// The same with all that can be told; its size need not be set.
  Done report_progress(berth_progress progress) const {
    progress.size = sizeof progress;
    return Done(berth_report_progress(get(), &progress));
  }
  /// Has act(ask) do what the daemon asks next, waiting so long for it, and answers with what it
  /// returns (BERTH_DONE…). BERTH_NOT_FOUND: nothing was asked.
  template <class Act>
  Done serve(std::uint32_t timeout_ms, Act&& act) const {
    using Function = std::remove_reference_t<Act>;
    return Done(berth_session_serve(
        get(), timeout_ms,
        [](void* user, const berth_ask* ask) -> std::int32_t {
          return (*static_cast<Function*>(user))(*ask);
        },
        const_cast<std::remove_const_t<Function>*>(&act)));
  }
  berth_session get() const { return handle_.get(); }

 private:
  friend class Lease;
  explicit Session(berth_session handle) : handle_(handle) {}
  Handle<&berth_detach> handle_;
};

/// A lease of the program's own, which is given back when this dies.
class Lease {
 public:
  /// As berth_acquire(): before other threads are there and before the driver is used.
  static Expected<Lease> acquire(berth_request request, std::uint32_t flags = 0) {
    request.size = sizeof request;
    berth_session_options options{};
    options.size = sizeof options;
    options.flags = flags;
    berth_session handle = 0;
    Done done(berth_acquire(&options, &request, &handle));
    if (!done) return done;
    return Lease(Session(handle));
  }
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) noexcept = default;
  ~Lease() {
    if (session_.get() != 0) (void)berth_release(session_.get());
  }

  Done resize(std::uint64_t vram_bytes, std::uint64_t wait_ms = 0) {
    return Done(berth_resize(session_.get(), vram_bytes, wait_ms));
  }
  const Session& session() const { return session_; }

 private:
  explicit Lease(Session session) : session_(std::move(session)) {}
  Session session_;
};

/// What the framework is asked. Each may be left out.
struct Provider {
  std::function<std::optional<std::uint64_t>()> allocated;
  std::function<std::optional<std::uint64_t>()> reserved;
  std::function<bool()> empty_cache;
  std::function<bool()> synchronize;
};

/// A training loop's keeper.
class VramManager {
 public:
  using Act = std::function<std::int32_t(std::uint32_t action)>;  // BERTH_CLEANUP… to BERTH_DONE…
  using Tell = std::function<void(const berth_event&)>;

  /// `session` may be null.
  static Expected<VramManager> create(const Session* session, berth_vram_options options = {}) {
    options.size = sizeof options;
    berth_vram_manager handle = 0;
    Done done(
        berth_vram_manager_create(session == nullptr ? 0 : session->get(), &options, &handle));
    if (!done) return done;
    return VramManager(handle);
  }

  /// To be called before the first step.
  Done set_provider(Provider provider) {
    means_->provider = std::move(provider);
    const Provider& given = means_->provider;
    berth_provider c{};
    c.size = sizeof c;
    c.user = means_.get();
    if (given.allocated) c.allocated = &tell<&Provider::allocated>;
    if (given.reserved) c.reserved_bytes = &tell<&Provider::reserved>;
    if (given.empty_cache) c.empty_cache = &have_done<&Provider::empty_cache>;
    if (given.synchronize) c.synchronize = &have_done<&Provider::synchronize>;
    return Done(berth_vram_manager_set_provider(get(), &c));
  }
  /// Either may be empty. To be called before the first step.
  Done set_callbacks(Act act, Tell tell_event) {
    means_->act = std::move(act);
    means_->event = std::move(tell_event);
    berth_vram_callbacks c{};
    c.size = sizeof c;
    c.user = means_.get();
    if (means_->act) c.act = [](void* user, std::uint32_t action) { return of(user).act(action); };
    if (means_->event) {
      c.event = [](void* user, const berth_event* event) { of(user).event(*event); };
    }
    return Done(berth_vram_manager_set_callbacks(get(), &c));
  }

  Expected<berth_vram_report> step() {
    berth_vram_report report{};
    report.size = sizeof report;
    Done done(berth_vram_manager_step(get(), &report));
    if (!done) return done;
    return report;
  }
  Done answer(std::uint32_t action, std::int32_t outcome) {
    return Done(berth_vram_manager_answer(get(), action, outcome));
  }
  /// The bytes that were freed.
  Expected<std::uint64_t> cleanup() {
    std::uint64_t freed = 0;
    Done done(berth_vram_manager_cleanup(get(), &freed));
    if (!done) return done;
    return freed;
  }
  Done count_copy(std::uint64_t bytes) { return Done(berth_vram_manager_count_copy(get(), bytes)); }
  Done phase(const std::string& name) {
    return Done(berth_vram_manager_phase(get(), name.c_str()));
  }
  Expected<berth_vram_counts> counts() const {
    berth_vram_counts counts{};
    counts.size = sizeof counts;
    Done done(berth_vram_manager_counts(get(), &counts));
    if (!done) return done;
    return counts;
  }
  std::string status_line() const {
    std::size_t needed = 0;
    (void)berth_vram_manager_status_line(get(), nullptr, 0, &needed);
    std::string text(needed + 32, '\0');
    (void)berth_vram_manager_status_line(get(), text.data(), text.size(), &needed);
    text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
    return text;
  }
  berth_vram_manager get() const { return handle_.get(); }

 private:
  struct Means {
    Provider provider;
    Act act;
    Tell event;
  };
  explicit VramManager(berth_vram_manager handle)
      : means_(std::make_unique<Means>()), handle_(handle) {}
  static Means& of(void* user) { return *static_cast<Means*>(user); }

  template <std::function<std::optional<std::uint64_t>()> Provider::* kFunction>
  static std::int32_t tell(void* user, std::uint32_t, std::uint64_t* bytes) {
    const std::optional<std::uint64_t> told = (of(user).provider.*kFunction)();
    if (told) *bytes = *told;
    return told ? 0 : 1;
  }
  template <std::function<bool()> Provider::* kFunction>
  static std::int32_t have_done(void* user, std::uint32_t) {
    return (of(user).provider.*kFunction)() ? 0 : 1;
  }

  std::unique_ptr<Means> means_;  // Where the C interface finds it, wherever this is moved.
  Handle<&berth_vram_manager_destroy> handle_;
};

/// A batch that shrinks into smaller pieces when memory runs out.
class Batch {
 public:
  /// `session` may be null.
  static Expected<Batch> create(const Session* session, berth_batch_options options) {
    options.size = sizeof options;
    berth_batch handle = 0;
    Done done(berth_batch_create(session == nullptr ? 0 : session->get(), &options, &handle));
    if (!done) return done;
    return Batch(handle);
  }
  berth_batch_plan plan() const { return told(&berth_batch_current); }

  /// Has the step done: step(micro, accumulation), and again from its beginning with a smaller
  /// micro-batch each time it throws OutOfMemory, after free_memory(). What the step held is gone
  /// by then, as it was left. Other exceptions go through. BERTH_OUT_OF_MEMORY, with what to
  /// change, where even the smallest did not fit.
  template <class OutOfMemory = std::bad_alloc, class Step, class FreeMemory>
  Done retry_on_oom(Step&& step, FreeMemory&& free_memory) {
    while (true) {
      const berth_batch_plan now = plan();
      if (now.accumulation == 0) return Done(berth_batch_current(get(), nullptr));
      if (fits<OutOfMemory>(step, now)) {
        (void)told(&berth_batch_step_done);  // That it is not remembered harms no step.
        return Done();
      }
      free_memory();
      berth_batch_plan next{};
      next.size = sizeof next;
      Done done(berth_batch_out_of_memory(get(), &next));
      if (!done) return done;
    }
  }
  template <class OutOfMemory = std::bad_alloc, class Step>
  Done retry_on_oom(Step&& step) {
    return retry_on_oom<OutOfMemory>(std::forward<Step>(step), [] {});
  }
  berth_batch get() const { return handle_.get(); }

 private:
  explicit Batch(berth_batch handle) : handle_(handle) {}

  template <class OutOfMemory, class Step>
  static bool fits(Step& step, const berth_batch_plan& plan) {
    try {
      step(plan.micro, plan.accumulation);
      return true;
    } catch (const OutOfMemory&) {
      return false;
    }
  }
  berth_batch_plan told(berth_status (*ask)(berth_batch, berth_batch_plan*)) const {
    berth_batch_plan plan{};
    plan.size = sizeof plan;
    (void)ask(get(), &plan);
    return plan;
  }

  Handle<&berth_batch_destroy> handle_;
};

/// The largest batch that fits: trial(batch) says whether a step with so many samples does, and has
/// freed what it took. `session` may be null.
template <class Trial>
Expected<std::uint64_t> find_batch_size(const Session* session, berth_batch_search search,
                                        Trial&& trial) {
  using Function = std::remove_reference_t<Trial>;
  search.size = sizeof search;
  search.user = const_cast<std::remove_const_t<Function>*>(&trial);
  search.trial = [](void* user, std::uint64_t batch) -> std::int32_t {
    return (*static_cast<Function*>(user))(batch) ? BERTH_OK : BERTH_OUT_OF_MEMORY;
  };
  std::uint64_t best = 0;
  Done done(berth_find_batch_size(session == nullptr ? 0 : session->get(), &search, &best));
  if (!done) return done;
  return best;
}

}  // namespace berth
