// SPDX-License-Identifier: Apache-2.0
// The lease that a run has: one that it took itself, or that of the `berth run` it is a child of.
// Through libberth, as any other program.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "trainer/coordination.h"

namespace berth::trainer {

struct LeaseTerms {
  std::optional<Bytes> vram;      // Of a lease of its own; absent: that of its `berth run`, if any.
  std::optional<Duration> wait;   // For it; absent: for as long as it takes.
  std::optional<Duration> grace;  // It can save itself, within that.
};

/// Null: there is no lease, and none is wanted. To be called before there are threads, and before a
/// GPU is used: it sets the environment as `berth run` does. `say` gets lines for people.
Result<std::unique_ptr<Coordination>> open_lease(const LeaseTerms& terms,
                                                 std::function<void(const std::string&)> say);

}  // namespace berth::trainer
