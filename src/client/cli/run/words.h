// SPDX-License-Identifier: Apache-2.0
// The sentences that `run` says about its lease. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "cli/render/context.h"
#include "cli/run/request.h"
#include "model/lease.h"
#include "model/view.h"
#include "wire/exit_status.h"

namespace berth::cli {

/// "granted GPU 0 (RTX 5080), 8.0 GiB, lease 12, after 3m07s"
struct Grant {
  const LeaseView& lease;
  std::span<const DeviceView> devices;  // Those whose model is known.
  bool simulated = false;
};
std::string granted_text(const Grant& grant);

/// "8.0 GiB on GPU 0", "all of GPU 0 (15.4 GiB)", "8.0 GiB on each of GPU 0 and 1"
std::string held_text(const LeaseView& lease);

/// "2 processes of lease 12 still use GPU 0; it stays held until they end (berth release --kill
/// 12)". Empty: none do.
std::string leftovers_text(const LeaseView& lease);

/// How a command comes into a lease that is there already.
enum class Joining : std::uint8_t {
  kOuter,  // It is started inside of it.
  kNamed,  // By --lease.
};

/// "you are inside lease 12 (8.0 GiB on GPU 0): berth resize 12 -m 12G, or --new-lease"; "lease 12
/// (8.0 GiB on GPU 0) is less than that: berth resize 12 -m 12G". Empty: the lease has what is
/// asked for.
std::string too_much_text(const LeaseView& lease, const RequestOptions& options, Joining how);

/// Why `me` cannot run a command in it, with the cure: "lease 12 has ended: berth reserve asks for
/// another one".
struct JoiningFault {
  wire::ExitCode code;
  std::string sentence;
};
std::optional<JoiningFault> fault_of_joining(const LeaseView& lease, UserId me);

/// "lease 12 has reached its limit of 1h", "lease 12 was cancelled by root", "lease 12 was above
/// its budget of 8.0 GiB for too long"; what has told the command to end.
std::string revoked_text(const LeaseView& lease, const RenderContext& context);

/// "lease 12 was released by root; its command runs on without a lease, …"
std::string detached_text(const LeaseView& lease, const RenderContext& context);

/// "lease 12 is stopped by root, to wait in the queue and be started again"
std::string requeuing_text(const LeaseView& lease, const RenderContext& context);

/// "lease 12: its command ended with exit status 3; retry 1 of 3 in 10 s", "… ran out of memory
/// with 4.0 GiB; it is started again, once, with 8.0 GiB". `before`: as the run began.
std::string retry_text(const LeaseView& before, const LeaseView& after, const ExitStatus& exit,
                       const RenderContext& context);

/// "lease 12 uses 9.0 GiB, above its budget of 8.0 GiB", and what follows from that.
std::string above_budget_text(const LeaseView& lease);

/// "lease 12 is to be suspended, because it is above its budget": its last measure, or why that is
/// not possible or failed. Empty where it is told otherwise.
std::string measure_text(const LeaseView& lease);

/// "lease 12 uses 7.1 GiB of 8.0 GiB, and in about 1m30s all of it at this rate". Empty where that
/// is no news: there is room and nothing grows, or the GPU is its own.
std::string pressure_text(const LeaseView& lease);

/// The last allocation that a budget refused.
struct RefusedAllocation {
  Bytes bytes;
  Bytes used;  // Of the budget, then.
  Bytes budget;
  std::optional<Duration> after;  // Since the command began; absent: not known.
};

/// What is known of the allocations that a budget refused.
struct Refusals {
  std::optional<RefusedAllocation> last = {};
  std::optional<Bytes> largest = {};  // The largest budget that the lease's GPUs could ever grant.
};

/// "lease 12 peaked at 7.3 GiB of 8.0 GiB", or what was refused, and the budget that would have
/// been enough, if there is one. Empty where it helps nobody: neither did its budget refuse an
/// allocation, nor was it close to that, nor could others have used much of it.
std::string peak_text(const LeaseView& lease, const Refusals& refusals = {});

}  // namespace berth::cli
