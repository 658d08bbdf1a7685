// SPDX-License-Identifier: Apache-2.0
#include "gpu/process_facts.h"

#include <poll.h>

#include <string>
#include <utility>

#include "gpu/probe_protocol.h"
#include "os/processes.h"

namespace berth::gpu {
namespace {

constexpr Duration kFreshFor = seconds(5);

ProcessSample read_facts(const os::ProcessState& state) {
  ProcessSample facts{.process = state.process, .name = state.name};
  if (const Result<UserId> user = os::user_of(state.process); user.ok()) facts.user = *user;
  facts.ancestors = os::ancestors(state.process, kAncestorsMax);
  // Of another user's process it cannot be read, nor does it count there.
  const auto read = os::environment_value(state.process, "BERTH_LEASE_ID");
  const std::optional<std::string> lease = read.ok() ? *read : std::nullopt;
  if (lease) facts.env_lease = parse_handle(*lease);
  return facts;
}

bool is_readable(const os::UniqueFd& descriptor) {
  pollfd polled{.fd = descriptor.get(), .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) != 0;
}

}  // namespace

ProcessSample ProcessFacts::look(std::int32_t pid, Instant now) {
  const auto known = known_.find(pid);
  if (known != known_.end()) known->second.seen = true;
  const bool fresh = known != known_.end() && known->second.pidfd &&
                     now - known->second.read_at < kFreshFor && !is_readable(known->second.pidfd);
  if (fresh) return known->second.facts;
  const Result<os::ProcessState> state = os::process_state(pid);
  if (!state.ok()) {
    // Its last facts are still those by which its memory belongs to a lease or user.
    ProcessSample gone =
        known == known_.end() ? ProcessSample{.process = {.pid = pid}} : known->second.facts;
    gone.alive = false;
    return gone;
  }
  // A process that has ended has lost its parents and environment; what was known of it counts.
  const bool same = known != known_.end() && known->second.facts.process == state->process;
  if (same && state->ended) return known->second.facts;
  Known& read = known_[pid];
  read = {.facts = read_facts(*state), .read_at = now};
  if (Result<os::UniqueFd> pidfd = os::open_pidfd(state->process); pidfd.ok())
    read.pidfd = *std::move(pidfd);
  return read.facts;
}

void ProcessFacts::forget_unseen() {
  std::erase_if(known_, [](const auto& entry) { return !entry.second.seen; });
  for (auto& [pid, known] : known_) known.seen = false;
}

}  // namespace berth::gpu
