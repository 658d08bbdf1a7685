// SPDX-License-Identifier: Apache-2.0
// The parts of sentences that several texts share: who, how much, where, for how long. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/size_argument.h"
#include "base/units.h"
#include "cli/render/context.h"
#include "cli/render/text.h"
#include "model/checkpoint.h"
#include "model/ladder.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::cli {

/// "me/train-gpt2", or "me" of a lease without a name.
std::string session_of(UserId user, std::string_view name, const RenderContext& context);
std::string session_of(const LeaseView& lease, const RenderContext& context);

/// "6.0 GiB on any GPU", "8.0 GiB on each of 2 GPUs", "GPU 1 for itself".
std::string asked_by(const Request& request);

/// "6.0 GiB", "2 x 8.0 GiB", "a whole GPU": the same in few words.
std::string size_asked_by(const Request& request);

/// "held", "held,over_budget", "ended: killed by signal 9".
std::string state_of(const LeaseView& lease);
/// "ok", "failed with exit status 3", "killed by signal 9", "lost".
std::string result_of(const LeaseView& lease);

/// "GPU 0", "GPU 0 and 1", or the UUID where the index is not known.
std::string devices_of(std::span<const LeasePart> parts);
/// "0,1", or how the UUID of one begins whose index is not known: "GPU-5a1c0d2e…".
std::string device_list(std::span<const LeasePart> parts, const RenderContext& context);

/// "python (pid 4711) uses 2.0 GiB of GPU 1, which the lease was not given".
std::string stray_text(const Stray& stray, Charset charset);

/// Of all devices together; absent if one of them is not known.
std::optional<Bytes> used_by(const LeaseView& lease);
std::optional<Bytes> peak_of(const LeaseView& lease);
Bytes granted_to(const LeaseView& lease);

/// "an allocation waits for 2.0 GiB, and the budget is full (more: berth resize 12 -m 10G)": of a
/// lease with that flag.
std::string full_text(const LeaseView& lease);

/// "9.8", in GiB; a dash if unknown.
std::string in_gib(std::optional<Bytes> bytes, const RenderContext& context);
/// "9.8 GiB"; a dash if unknown.
std::string size_or_dash(std::optional<Bytes> bytes, const RenderContext& context);

/// "process 77 of it is another user's and left alone"; of a lease that has such.
std::string left_alone_text(const LeaseView& lease);

/// " by alice", " by you" to alice herself; nothing where nobody is known.
std::string by_whom(const std::optional<UserId>& user, const RenderContext& context);

/// "by alice, 12 min ago, for another ~48 min: lunch"
std::string pause_text(const Pause& pause, const RenderContext& context);

/// "~14 min", "~42 s", "~2h05m": how long until then. "any moment" if it has passed.
std::string about(UnixMs when, const RenderContext& context);
Duration between(UnixMs earlier, UnixMs later);
/// "3m07s"; what is below a second is "<1 s".
std::string age_text(Duration age);

/// "2026-02-07T13:15:00.123Z (3m07s ago)", "… (in ~2 h)".
std::string moment(UnixMs when, const RenderContext& context);
/// "with exit status 3", "by signal 9"
std::string exit_text(const ExitStatus& exit);

/// "its command ended with exit status 3 and is started again, retry 1 of 3": of one that waits for
/// its next attempt.
std::string next_attempt_text(const LeaseView& lease);

/// "of its 60 members 12 have ended (1 failed), 3 wait or run, and 45 are still to come".
std::string set_text(const LeaseView& set);
/// "12 has ended well and 13 has ended"
std::string after_text(const std::vector<Predecessor>& predecessors);

/// A line below a list of a simulated GPU's; empty with a real one.
std::string simulated_line(const RenderContext& context);

/// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& parts);
/// "1 lease", "2 leases".
std::string counted(std::uint64_t count, std::string_view noun);

/// What follows "lease 12": "has saved itself (out/a.pt)", or "has not saved itself: timed out, …".
std::string saved_text(const CheckpointEnd& end, Charset charset);
/// "suspend for over_budget: failed, …"; one that is under way: "suspend for over_budget: under
/// way"
std::string measure_text(const MeasureTaken& taken, Charset charset);
/// "timed out"
std::string_view outcome_text(CheckpointOutcome outcome);
/// "by signal, within 60s, each 10m"
std::string way_text(const CheckpointWay& way);

}  // namespace berth::cli
