// SPDX-License-Identifier: Apache-2.0
// Admission of requests: what can be asked for at all, by this user, on this machine; and what is
// missing for what cannot be granted now.
#pragma once

#include <optional>
#include <string>

#include "core/decider.h"
#include "core/devices.h"
#include "core/indexes.h"
#include "core/ledger.h"
#include "core/part.h"

namespace berth::core {

class Admission {
 public:
  Admission(const Decider& core, const Ledger& ledger, const Devices& devices,
            const Indexes& indexes)
      : core_(core), ledger_(ledger), devices_(devices), indexes_(indexes) {}

  std::optional<Refusal> refuse(const Request& request, Actor actor) const;
  /// The same of a request in the queue, that its user or an administrator changes to this.
  std::optional<Refusal> refuse_edit(const Request& request, const Lease& lease, Actor actor) const;
  /// No device here could take it, now or ever.
  std::optional<Refusal> refuse_devices(const Request& request, UserId user) const;
  static Refusal below_a_context(Bytes asked, Bytes least);
  /// With as much as earlier runs of its command used, where that is asked for and known. It stands
  /// in its record: what is learnt later changes nothing of it.
  Request with_learned_size(Request request, UserId user) const;
  /// Of one that ran out of memory: what it is given if it is started again. Absent: no more can
  /// be.
  std::optional<Bytes> grown(const Lease& lease) const;
  /// Why it cannot be granted at this moment.
  std::string shortage_text(const Request& request, UserId user) const;

 private:
  std::optional<Refusal> refuse_now() const;
  std::optional<Refusal> refuse_shape(const Request& request) const;
  std::optional<Refusal> refuse_tier(const std::string& tier) const;
  std::optional<Refusal> refuse_slice(const Request& request) const;
  std::optional<Refusal> refuse_one_more(UserId user) const;
  std::optional<Refusal> refuse_size(const Request& request, UserId user) const;
  std::optional<Refusal> refuse_priority(const Request& request, UserId user) const;
  std::optional<Refusal> refuse_ancestors(const Request& request, Actor actor) const;

  Ref<const Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Indexes> indexes_;
};

}  // namespace berth::core
