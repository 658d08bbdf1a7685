// SPDX-License-Identifier: Apache-2.0
// The bodies of requests. The daemon decodes them strictly: an unknown field, a wrong type, a
// fraction or an overflow is an error that names the field (to_api_error() in wire/error.h says how
// it is sent). The client leaves out what stands at its default, so that a daemon one minor version
// older meets a field it does not know only where something is asked that it cannot do. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/checkpoint.h"
#include "model/lease.h"
#include "model/request.h"

namespace berth::wire {

/// POST /v1/leases and /v1/fit. A budget of 0 bytes means that nothing was said about memory.
struct RequestBody {
  Request request;
  /// Else its priority is no wish of anybody, and may be lowered to what is allowed.
  bool names_priority = false;
  std::optional<Process> anchor;  // What a lease without a command hangs on, beside its ttl.
};
std::string encode_request(const RequestBody& body);
Result<RequestBody> decode_request(std::string_view text);

/// POST …/claim: the command that stands ready, and which start of it in this lease it is.
struct ClaimBody {
  Process command;
  std::uint32_t restarts = 0;
};
std::string encode_claim(const ClaimBody& body);
Result<ClaimBody> decode_claim(std::string_view text);

/// POST …/reconnect: for which start it waits.
struct ReconnectBody {
  std::uint32_t restarts = 0;
};
std::string encode_reconnect(ReconnectBody body);
Result<ReconnectBody> decode_reconnect(std::string_view text);

/// POST …/join: a process that joins.
std::string encode_process_body(Process process);
Result<Process> decode_process_body(std::string_view text);

/// POST …/exit
struct ExitBody {
  ExitStatus exit;
  std::vector<Process> leftovers;
  std::uint32_t restarts = 0;
};
std::string encode_exit(const ExitBody& body);
Result<ExitBody> decode_exit(std::string_view text);

/// POST …/park
struct ParkBody {
  bool parked = true;
};
std::string encode_park(ParkBody body);
Result<ParkBody> decode_park(std::string_view text);

/// POST …/release
struct ReleaseBody {
  bool kill = false;
  bool detach = false;  // Its programs go on without it.
};
std::string encode_release(ReleaseBody body);
Result<ReleaseBody> decode_release(std::string_view text);

/// POST …/resize. Bytes, or kExclusive, or a share and bytes.
struct ResizeBody {
  std::optional<Share> share;
  std::optional<Bytes> vram;         // On each device.
  std::optional<Duration> wait_max;  // Absent or 0: now or refused.
};
std::string encode_resize(const ResizeBody& body);
Result<ResizeBody> decode_resize(std::string_view text);

/// POST …/renew
struct RenewBody {
  Duration ttl;
};
std::string encode_renew(RenewBody body);
Result<RenewBody> decode_renew(std::string_view text);

/// POST …/progress
struct ProgressBody {
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total;
  std::optional<Duration> left;  // Absent: by how fast it goes.
  std::string note;              // For others to read.
};
std::string encode_progress(const ProgressBody& body);
Result<ProgressBody> decode_progress(std::string_view text);

/// POST …/checkpoint
struct CheckpointBody {
  std::optional<Duration> wait_max;  // Absent: until it is over. 0: the answer comes at once.
};
std::string encode_checkpoint(CheckpointBody body);
Result<CheckpointBody> decode_checkpoint(std::string_view text);

/// POST …/checkpointed: how a save went.
struct CheckpointedBody {
  std::uint64_t number = 0;
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;
};
std::string encode_checkpointed(const CheckpointedBody& body);
Result<CheckpointedBody> decode_checkpointed(std::string_view text);

/// POST …/suspend and …/freeze. Empty, or {}: until it is resumed.
struct PauseBody {
  std::optional<Duration> lasts;  // Then it goes on by itself.
  std::string reason;             // For others to read.
};
std::string encode_pause(const PauseBody& body);
Result<PauseBody> decode_pause(std::string_view text);

/// POST …/move: to as many devices as the lease is on, in the order of its parts.
struct MoveBody {
  std::vector<DeviceName> devices;
};
std::string encode_move(const MoveBody& body);
Result<MoveBody> decode_move(std::string_view text);

/// POST …/requeue
struct RequeueBody {
  bool unsaved = false;
};
std::string encode_requeue(RequeueBody body);
Result<RequeueBody> decode_requeue(std::string_view text);

/// Bodies that say nothing: cancel, requeuing, daemon stop and reload. Empty or {}.
Status decode_nothing(std::string_view text);

}  // namespace berth::wire
