// SPDX-License-Identifier: Apache-2.0
#include "gpu/mover.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/number.h"
#include "base/quantity.h"

namespace berth::gpu {
namespace {

using Outcome = TransferResult::Outcome;
using State = CheckpointCalls::State;

constexpr std::string_view kLeftAlone = "left-alone=";
constexpr std::array<std::string_view, 4> kStates = {"running", "locked", "checkpointed",
                                                     "ruined: it can only be ended"};

TransferResult stuck(std::string why) {
  return {.outcome = Outcome::kStuck, .trouble = std::move(why)};
}
TransferResult undone(std::string why) {
  return {.outcome = Outcome::kUndone, .trouble = std::move(why)};
}

std::string about(std::int32_t pid, const Error& error) {
  return "process " + std::to_string(pid) + ": " + error.message;
}

std::vector<std::int32_t> users_of_cuda(CheckpointCalls& calls,
                                        std::span<const Process> processes) {
  std::vector<std::int32_t> pids;
  for (const Process& process : processes) {
    if (calls.uses_cuda(process.pid)) pids.push_back(process.pid);
  }
  return pids;
}

/// Why host memory does not suffice; empty if it does, as far as is known.
std::string lacks_host_memory(CheckpointCalls& calls, std::span<const std::int32_t> pids,
                              Bytes bytes, const MoveLimits& limits) {
  std::optional<Bytes> room;
  for (const std::int32_t pid : pids) {
    const std::optional<Bytes> left = calls.host_room(pid);
    if (left) room = std::min(room.value_or(*left), *left);
  }
  if (!room || bytes + limits.host_margin <= *room) return {};
  return "its " + to_text(bytes) + " of GPU memory would have to go to host memory, of which " +
         to_text(*room) + " are left, and " + to_text(limits.host_margin) + " are kept for others";
}

/// False: they make no sense.
bool decode_words(std::string_view words, TransferResult& result) {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    if (word.starts_with(kLeftAlone)) {
      const auto pid = parse_number<std::int32_t>(word.substr(kLeftAlone.size()));
      if (!pid) return false;
      result.left_alone.push_back(*pid);
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const auto device = parse_device_id(word.substr(0, equals));
    const auto used = parse_number<std::uint64_t>(word.substr(equals + 1));
    if (!device || !used) return false;
    if (!result.left) result.left.emplace();
    result.left->push_back({*device, {*used}});
  }
  return true;
}

}  // namespace

TransferResult move_out(CheckpointCalls& calls, std::span<const Process> processes, Bytes bytes,
                        const MoveLimits& limits, const Measure& measure) {
  const std::vector<std::int32_t> pids = users_of_cuda(calls, processes);
  if (pids.empty()) return undone("none of its processes uses the GPU");
  if (std::string why = lacks_host_memory(calls, pids, bytes, limits); !why.empty()) {
    return undone(std::move(why));
  }
  const auto give_up = [&](std::int32_t pid, const Error& error) {
    const std::string why = about(pid, error);
    const TransferResult back = move_back(calls, processes);
    return back.outcome == Outcome::kDone ? undone(why) : stuck(why + "; then " + back.trouble);
  };
  for (const std::int32_t pid : pids) {
    const Status locked = calls.lock(pid, limits.lock_within);
    if (!locked.ok()) return give_up(pid, locked.error());
  }
  TransferResult result;
  if (measure) result.left = measure(pids);
  for (const std::int32_t pid : pids) {
    const Status moved = calls.checkpoint(pid);
    if (!moved.ok()) return give_up(pid, moved.error());
  }
  return result;
}

// One that has ended meanwhile is no user of CUDA any more.
TransferResult move_back(CheckpointCalls& calls, std::span<const Process> processes,
                         std::span<const DevicePair> pairs) {
  const std::vector<std::int32_t> pids = users_of_cuda(calls, processes);
  const auto is_in_host_memory = [&](std::int32_t pid) {
    const Result<State> state = calls.state(pid);
    return state.ok() && *state == State::kCheckpointed;
  };
  bool none_is_back = !pairs.empty() && std::ranges::all_of(pids, is_in_host_memory);
  std::string trouble;
  const auto note = [&](const std::string& what) {
    trouble += (trouble.empty() ? "" : "; ") + what;
  };
  for (const std::int32_t pid : pids) {
    const Result<State> state = calls.state(pid);
    if (!state.ok()) {
      note(about(pid, state.error()));
    } else if (*state == State::kCheckpointed) {
      const Status back = calls.restore(pid, pairs);
      if (!back.ok() && none_is_back && is_in_host_memory(pid)) {
        return undone(about(pid, back.error()));
      }
      if (!back.ok()) note(about(pid, back.error()));
      none_is_back = false;
    }
  }
  // Those that are back wait for the others: together they may still go on later.
  if (!trouble.empty()) return stuck(std::move(trouble));
  for (const std::int32_t pid : pids) {
    const Result<State> state = calls.state(pid);
    if (state.ok() && *state == State::kRunning) continue;
    if (state.ok() && *state != State::kLocked) {
      note("process " + std::to_string(pid) + " is " +
           std::string(kStates[static_cast<std::size_t>(*state)]));
    } else if (const Status unlocked = calls.unlock(pid); !unlocked.ok()) {
      note(about(pid, unlocked.error()));
    }
  }
  return trouble.empty() ? TransferResult{} : stuck(std::move(trouble));
}

std::string encode(const TransferResult& result) {
  std::string line(to_text(result.outcome));
  if (!result.trouble.empty()) line += " " + result.trouble;
  if (result.outcome == Outcome::kDone) {
    for (const std::int32_t pid : result.left_alone) {
      line += " " + std::string(kLeftAlone) + std::to_string(pid);
    }
  }
  for (const DeviceUse& use : result.left.value_or(std::vector<DeviceUse>{})) {
    line += " " + to_text(use.device) + "=" + std::to_string(use.used.value);
  }
  std::ranges::replace(line, '\n', ' ');
  return line + "\n";
}

Result<TransferResult> decode_move_result(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const std::string_view word = line.substr(0, line.find(' '));
  const std::optional<Outcome> outcome = parse_word<Outcome>(word);
  if (!outcome || line.find('\n') != std::string_view::npos) {
    return Error{Errc::kCorrupt, "berth-mover says what makes no sense"};
  }
  TransferResult result{.outcome = *outcome, .trouble = {}};
  if (word.size() == line.size()) return result;
  const std::string_view rest = line.substr(word.size() + 1);
  if (result.outcome != Outcome::kDone) {
    result.trouble = rest;
  } else if (!decode_words(rest, result)) {
    return Error{Errc::kCorrupt, "berth-mover says what makes no sense"};
  }
  return result;
}

}  // namespace berth::gpu
