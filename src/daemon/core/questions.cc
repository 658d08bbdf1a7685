// SPDX-License-Identifier: Apache-2.0
// The coordinator from outside: what it is told, and the questions that change nothing.
#include <utility>

#include "core/impl.h"
#include "core/placement.h"

namespace berth::core {
namespace {

// A whole GPU where no size is said, and turns where they are possible.
Share shared_as(Share share, const Request& request) {
  const bool has_size = request.vram > Bytes{};
  const bool takes_turns = has_size && !request.ttl && device_count(request) == 1;
  const bool fits = share == Share::kExclusive ? !has_size : share == Share::kBudget || takes_turns;
  return fits ? share : request.share;
}

}  // namespace

Coordinator::Coordinator(Settings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Coordinator::~Coordinator() = default;
Coordinator::Coordinator(Coordinator&&) noexcept = default;
Coordinator& Coordinator::operator=(Coordinator&&) noexcept = default;

Status Coordinator::apply(const Record& record) {
  return impl_->apply(record);
}

std::vector<Effect> Coordinator::step(Now now, const Event& event) {
  return impl_->step(now, event);
}

Coordinator Coordinator::copy() const {
  Coordinator other(impl_->settings());
  *other.impl_ = *impl_;
  other.impl_->was_copied();
  return other;
}

void Coordinator::take_no_shortcuts() {
  impl_->scheduler.take_no_shortcuts();
}

void Coordinator::check_everything() const {
  impl_->check_everything();
}

std::uint64_t Coordinator::last_sequence() const {
  return impl_->state().last_sequence();
}

std::vector<Record> Coordinator::snapshot(Now now) const {
  std::vector<Record> records = impl_->state().snapshot(now.instant);
  for (Record& record : records) record.wall = now.wall;
  return records;
}

std::vector<LeaseView> Coordinator::leases(Now now) const {
  std::vector<LeaseView> views;
  views.reserve(impl_->state().leases().size());
  for (const auto& [id, lease] : impl_->state().leases()) {
    views.push_back(impl_->views.lease(id, now));
    views.back().queue_position = impl_->explainer.position(id, now.instant);
  }
  return views;
}

std::vector<LeaseView> Coordinator::ended(Now) const {
  return impl_->views.ended();
}

std::optional<LeaseView> Coordinator::lease(LeaseId id, Now now) const {
  const Lease* lease = impl_->state().find(id);
  if (lease == nullptr && impl_->state().find_ended(id) == nullptr) return std::nullopt;
  LeaseView view = impl_->views.lease(id, now);
  if (lease != nullptr && lease->waiting() != nullptr) {
    view.queue_position = impl_->explainer.position(id, now.instant);
  }
  return view;
}

const std::vector<ProgressPoint>& Coordinator::progress(LeaseId id) const {
  return impl_->progress.course(id);
}

std::optional<LeaseId> Coordinator::find(Handle handle) const {
  return impl_->views.find(handle);
}

std::variant<LeaseId, Refusal> Coordinator::find(std::string_view text, Actor actor) const {
  return impl_->views.find(text, actor);
}

std::vector<DeviceView> Coordinator::devices(Now now) const {
  return impl_->views.devices(now);
}

Bytes Coordinator::context_cost(UserId user, DeviceId device) const {
  return impl_->devices.context_cost(user, device);
}

std::vector<LeaseId> Coordinator::queue(Now now) const {
  return impl_->explainer.order(now.instant);
}

std::optional<WhyView> Coordinator::why(LeaseId id, Now now) const {
  if (const Lease* lease = impl_->state().find(id)) {
    WhyView view = impl_->explainer.why(*lease, now);
    if (view.reason != WhyView::Reason::kNotWaiting) {
      view.check_again_after = check_again_after(view.expected_start, now.wall);
    }
    return view;
  }
  if (impl_->state().find_ended(id) == nullptr) return std::nullopt;
  WhyView view;
  view.id = id;
  view.state = LeaseState::kEnded;
  return view;
}

std::variant<FitView, Refusal> Coordinator::fit(const Request& request, Actor actor,
                                                Now now) const {
  std::variant<FitView, Refusal> fit = impl_->explainer.fit(request, actor, now);
  if (FitView* view = std::get_if<FitView>(&fit); view != nullptr && !view->fits) {
    view->check_again_after = check_again_after(view->expected_start, now.wall);
  }
  return fit;
}

std::uint64_t Coordinator::ledger_version() const {
  return impl_->version();
}

std::vector<Handle> Coordinator::settling() const {
  std::vector<Handle> handles;
  for (const LeaseId id : impl_->confirmations.ending()) {
    handles.push_back(impl_->state().find(id)->handle);
  }
  return handles;
}

void Coordinator::fill_defaults(Request& request, Named named, UserId user) const {
  const auto& tiers = impl_->settings().tiers;
  const auto found = tiers.find(request.tier);
  const Tier tier = found == tiers.end() ? Tier{} : found->second;
  request.may_yield |= tier.may_yield;
  if (!named.share && tier.share) request.share = shared_as(*tier.share, request);
  if (named.priority) return;
  request.priority =
      std::min(tier.priority.value_or(request.priority), impl_->limits_of(user).priority_max);
}

std::string Coordinator::trouble() const {
  return impl_->devices.trouble();
}

}  // namespace berth::core
