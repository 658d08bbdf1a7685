// SPDX-License-Identifier: Apache-2.0
#include "agents/facts.h"

#include <algorithm>
#include <utility>

#include "base/letters.h"

namespace berth::agents {
namespace {

constexpr std::size_t kLeasesInBrief = 8;
constexpr std::size_t kBlockersMax = 8;

std::string owner_of(UserId user, const wire::UserNames& names) {
  const auto known = names.find(user);
  const bool has_name = known != names.end() && !known->second.empty();
  return has_name ? escape_control_line(known->second) : "uid " + std::to_string(user.value);
}

bool is_read(const Message& message, const Reader& reader) {
  switch (reader.messages) {
    case ReadMessages::kAll:
      return true;
    case ReadMessages::kOwn:
      return !message.from || *message.from == reader.user;
    case ReadMessages::kNone:
      return false;
  }
  return false;
}

std::vector<AskedFacts> asked_of(const LeaseView& lease, const wire::UserNames& names,
                                 const Reader& reader) {
  std::vector<AskedFacts> asked;
  for (const Message& message : lease.messages) {
    if (message.answer) continue;
    AskedFacts one{.number = message.number,
                   .from = message.from ? owner_of(*message.from, names) : "berthd"};
    if (is_read(message, reader)) one.message = said(one.from, message.text);
    asked.push_back(std::move(one));
  }
  return asked;
}

GpuFacts facts_of(const DeviceView& device) {
  return {.index = device.index,
          .model = device.model,
          .total = device.capacity,
          .used = device.used,
          .unmanaged = device.unmanaged,
          .grantable = device.grantable,
          .leases = device.leases,
          .trouble = device.trouble};
}

}  // namespace

std::optional<Said> said(std::string by, std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::string line = escape_control_line(text);
  return Said{std::move(by), std::string(whole_letters(line, kSaidMax))};
}

LeaseFacts facts_of(const LeaseView& lease, const wire::UserNames& names, const Reader& reader) {
  const bool is_yours = lease.user == reader.user;
  LeaseFacts facts{
      .lease = lease.id,
      .owner = owner_of(lease.user, names),
      .is_yours = is_yours,
      .is_this_session = is_yours && lease.request.session == reader.session,
      .state = lease.state,
      .granted = vram_granted(lease),
      .used = vram_used(lease),
      .expires = lease.expires_at,
      .expected_end = lease.expected_end,
      .idle_since = lease.idle_since,
      .queue_position = lease.queue_position,
      .check_again_after = check_again_after(lease),
      .result = lease.result,
      .exit_code =
          lease.exit && lease.exit->signal == 0 ? std::optional(lease.exit->code) : std::nullopt,
  };
  facts.name = said(facts.owner, lease.request.name);
  if (is_yours) facts.asked = asked_of(lease, names, reader);
  for (const LeasePart& part : lease.parts) {
    if (part.index) facts.gpus.push_back(*part.index);
  }
  return facts;
}

StatusFacts facts_of(const wire::NamedStatus& status, Detail detail, const Reader& reader) {
  const wire::StatusAnswer& all = status.status;
  StatusFacts facts{
      .simulated = all.simulated, .trouble = all.trouble, .waiting = all.queue.size()};
  for (const DeviceView& device : all.devices) facts.gpus.push_back(facts_of(device));
  const bool is_full = detail == Detail::kFull;
  for (const LeaseView& lease : all.leases) {
    LeaseFacts one = facts_of(lease, status.names, reader);
    if (!is_full && !one.is_yours) one.name.reset();
    facts.leases.push_back(std::move(one));
  }
  if (is_full) {
    for (const LeaseView& lease : all.queue) {
      facts.leases.push_back(facts_of(lease, status.names, reader));
    }
    return facts;
  }
  // One's own first: they are what can be changed.
  std::ranges::sort(facts.leases, {}, [](const LeaseFacts& lease) {
    return std::pair(!lease.is_yours, lease.lease);
  });
  if (facts.leases.size() > kLeasesInBrief) {
    facts.leases_left_out = facts.leases.size() - kLeasesInBrief;
    facts.leases.resize(kLeasesInBrief);
  }
  return facts;
}

std::vector<Blocker> blockers_of(const std::vector<Holder>& holders, const wire::UserNames& names,
                                 const Reader& reader) {
  std::vector<Blocker> blockers;
  for (const Holder& holder : holders) {
    if (blockers.size() == kBlockersMax) break;
    blockers.push_back({.lease = holder.lease,
                        .owner = owner_of(holder.user, names),
                        .is_yours = holder.user == reader.user,
                        .charged = holder.charged,
                        .expected_end = holder.expected_end});
  }
  return blockers;
}

FitFacts facts_of(const FitView& fit, const wire::UserNames& names, const Reader& reader) {
  FitFacts facts{.fits = fit.fits,
                 .largest = fit.largest,
                 .ahead = fit.ahead_count,
                 .expected_start = fit.fits ? std::nullopt : fit.expected_start,
                 .check_again_after = fit.check_again_after};
  facts.blockers = blockers_of(fit.holders, names, reader);
  return facts;
}

}  // namespace berth::agents
