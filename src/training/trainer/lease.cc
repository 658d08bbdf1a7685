// SPDX-License-Identifier: Apache-2.0
#include "trainer/lease.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "berth/berth.h"
#include "trainer/moment.h"

namespace berth::trainer {
namespace {

using Say = std::function<void(const std::string&)>;

// Steps may take a millisecond, and nobody who asks is that much in a hurry.
constexpr Duration kLookEvery = milliseconds(50);

Ask::Kind kind_of(std::uint32_t action) {
  if (action == BERTH_CLEANUP) return Ask::Kind::kMakeRoom;
  return action == BERTH_RELEASE ? Ask::Kind::kSaveAndEnd : Ask::Kind::kSave;
}

std::uint64_t ms_of(Duration duration) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.ns / 1'000'000));
}

class Lease final : public Coordination {
 public:
  explicit Lease(Say say) : say_(std::move(say)) {}
  ~Lease() override {
    if (session_ != 0) (void)berth_detach(session_);
  }

  Status acquire(const LeaseTerms& terms, Bytes vram) {
    const berth_session_options options = this->options();
    berth_request request{};
    request.size = sizeof request;
    request.vram_bytes = vram.value;
    request.wait_ms = terms.wait ? ms_of(*terms.wait) : BERTH_NO_END;
    request.grace_ms = terms.grace ? ms_of(*terms.grace) : 0;
    request.name = "berth-train";
    if (berth_acquire(&options, &request, &session_) == BERTH_OK) return Unit{};
    return Error{Errc::kUnavailable, berth_last_error()};
  }
  Status attach() {
    const berth_session_options options = this->options();
    if (berth_attach(&options, &session_) == BERTH_OK) return Unit{};
    return Error{Errc::kUnavailable, berth_last_error()};
  }
  /// 0: none.
  std::uint64_t number() const {
    berth_session_facts facts{};
    facts.size = sizeof facts;
    return berth_session_describe(session_, &facts) == BERTH_OK ? facts.lease : 0;
  }

  std::optional<Ask> next_ask() override {
    const Duration now = moment();
    if (now < look_at_) return std::nullopt;
    look_at_ = {now.ns + kLookEvery.ns};
    berth_ask ask{};
    ask.size = sizeof ask;
    if (berth_session_next_ask(session_, 0, &ask) != BERTH_OK) return std::nullopt;
    look_at_ = {};  // There may be more.
    ask_ = ask;
    return Ask{.kind = kind_of(ask.action), .number = ask.number};
  }
  void answer(const Ask& ask, const Result<std::string>& saved) override {
    if (ask.number != ask_.number) return;
    const std::string detail = saved.ok() ? *saved : saved.error().message;
    (void)berth_session_answer(session_, &ask_, saved.ok() ? BERTH_DONE : BERTH_NOT_DONE,
                               detail.c_str());
  }
  void broadcast(const HowFar& how_far) override {
    const std::string note = how_far.note.substr(0, BERTH_NOTE_MAX);
    berth_progress progress{};
    progress.size = sizeof progress;
    progress.done = how_far.done;
    progress.total = how_far.total;
    progress.left_ms = ms_of(how_far.left);
    progress.note = note.c_str();
    progress.phase = how_far.phase.c_str();
    // What has come apart has no loss that could be told.
    if (std::isfinite(how_far.loss)) progress.loss = &how_far.loss;
    (void)berth_report_progress(session_, &progress);  // Of no matter for the run.
  }

 private:
  berth_session_options options() {
    return {.size = sizeof(berth_session_options),
            .flags = 0,
            .say = [](void* user, const char* line) { static_cast<Lease*>(user)->say_(line); },
            .user = this};
  }

  Say say_;
  berth_session session_ = 0;
  berth_ask ask_{};
  Duration look_at_;
};

}  // namespace

Result<std::unique_ptr<Coordination>> open_lease(const LeaseTerms& terms, Say say) {
  const bool is_inside = std::getenv("BERTH_LEASE_ID") != nullptr;
  if (!terms.vram && !is_inside) return std::unique_ptr<Coordination>();
  auto lease = std::make_unique<Lease>(std::move(say));
  TRY_STATUS(terms.vram ? lease->acquire(terms, *terms.vram) : lease->attach());
  if (lease->number() == 0) return std::unique_ptr<Coordination>();
  return std::unique_ptr<Coordination>(std::move(lease));
}

}  // namespace berth::trainer
