// SPDX-License-Identifier: Apache-2.0
#include "agents/tool_arguments.h"

#include "base/quantity.h"

namespace berth::agents {
namespace {

constexpr std::string_view kNoSize = "is not understood: say it as in 8G or 512M";

bool is_size(const std::string& memory) {
  const Result<Bytes> bytes = parse_bytes(memory);
  return bytes.ok() && bytes->value > 0;
}

}  // namespace

std::optional<BodyFault> fault_of(const RoomArguments& room) {
  if (room.memory.empty() != room.exclusive) {
    return BodyFault{"memory", room.exclusive ? "is not said of whole GPUs (exclusive)"
                                              : "is missing: say how much, or exclusive"};
  }
  if (!room.memory.empty() && !is_size(room.memory)) return BodyFault{"memory", kNoSize};
  return std::nullopt;
}

std::optional<BodyFault> fault_of(const AcquireArguments& arguments) {
  if (arguments.ticket) return std::nullopt;
  return fault_of(arguments.room);
}

std::optional<BodyFault> fault_of(const RenewArguments& arguments) {
  if (!arguments.memory.empty() && !is_size(arguments.memory)) return BodyFault{"memory", kNoSize};
  if (!arguments.minutes && arguments.memory.empty() && !arguments.done) {
    return BodyFault{"minutes", "is missing, and so are memory and done"};
  }
  if (!arguments.note.empty() && !arguments.done) {
    return BodyFault{"note", "goes with done: how far it is"};
  }
  return std::nullopt;
}

std::optional<BodyFault> fault_of(const RunArguments& arguments) {
  if (arguments.command.empty()) return BodyFault{"command", "is empty"};
  if (arguments.lease) return std::nullopt;
  return fault_of(arguments.room);
}

std::optional<BodyFault> fault_of(const ControlArguments& arguments) {
  const bool moves = arguments.action == Action::kMove;
  if (moves && arguments.gpus.empty()) return BodyFault{"gpus", "is missing: where it goes on"};
  if (!moves && !arguments.gpus.empty()) return BodyFault{"gpus", "goes with move"};
  return std::nullopt;
}

std::optional<BodyFault> fault_of(const MessageArguments& arguments) {
  const bool agrees = arguments.answer == Reply::kAgree;
  if (!arguments.answer) {
    if (arguments.text.empty()) return BodyFault{"text", "is missing: what is asked"};
    if (arguments.number) return BodyFault{"number", "goes with answer"};
  } else if (arguments.wait_s > 0) {
    return BodyFault{"max_wait_s", "goes with a question, and this is an answer"};
  }
  if (agrees && !arguments.text.empty())
    return BodyFault{"text", "goes with refuse, as its reason"};
  if (!agrees && arguments.pause_minutes) return BodyFault{"pause_minutes", "goes with agree"};
  return std::nullopt;
}

}  // namespace berth::agents
