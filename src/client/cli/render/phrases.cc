// SPDX-License-Identifier: Apache-2.0
#include "cli/render/phrases.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <variant>

#include "base/quantity.h"

namespace berth::cli {
namespace {

std::string name_of(const DeviceName& device) {
  if (const auto* index = std::get_if<std::uint32_t>(&device)) return std::to_string(*index);
  return to_text(std::get<DeviceId>(device));
}

std::string name_of(const LeasePart& part) {
  return part.index ? std::to_string(*part.index) : to_text(part.device);
}

// Of a field that may be unknown on some device.
std::optional<Bytes> sum(const LeaseView& lease, std::optional<Bytes> LeasePart::* field) {
  if (lease.parts.empty()) return std::nullopt;
  Bytes total;
  for (const LeasePart& part : lease.parts) {
    const std::optional<Bytes>& bytes = part.*field;
    if (!bytes) return std::nullopt;
    total += *bytes;
  }
  return total;
}

}  // namespace

std::string session_of(UserId user, std::string_view name, const RenderContext& context) {
  std::string text = escape_control(context.user_name(user), context.charset);
  if (!name.empty()) text += "/" + escape_control(name, context.charset);
  return text;
}

std::string session_of(const LeaseView& lease, const RenderContext& context) {
  const Request& request = lease.request;
  return session_of(lease.user, request.name.empty() ? request.session : request.name, context);
}

std::string asked_by(const Request& request) {
  std::vector<std::string> names;
  names.reserve(request.devices.size());
  for (const DeviceName& device : request.devices) names.push_back(name_of(device));
  const std::string named = "GPU " + joined(names);
  const std::string number = std::to_string(request.device_count);
  const std::size_t count = names.empty() ? request.device_count : names.size();
  if (request.share == Share::kExclusive) {
    if (!names.empty()) return named + (count > 1 ? " for themselves" : " for itself");
    return count > 1 ? number + " whole GPUs" : "a whole GPU";
  }
  const std::string size = to_text(request.vram);
  if (!names.empty()) return size + (count > 1 ? " on each of " : " on ") + named;
  return size + (count > 1 ? " on each of " + number + " GPUs" : " on any GPU");
}

std::string size_asked_by(const Request& request) {
  const std::size_t count = request.devices.empty() ? request.device_count : request.devices.size();
  const std::string number = std::to_string(count);
  if (request.share == Share::kExclusive) {
    return count > 1 ? number + " whole GPUs" : "a whole GPU";
  }
  return (count > 1 ? number + " x " : "") + to_text(request.vram);
}

std::string exit_text(const ExitStatus& exit) {
  if (exit.signal != 0) return "by signal " + std::to_string(exit.signal);
  return "with exit status " + std::to_string(exit.code);
}

std::string result_of(const LeaseView& lease) {
  if (!lease.result) return {};
  std::string text(to_text(*lease.result));
  // How the command ended explains these two; with the others, it follows from them.
  const bool by_signal = lease.exit && lease.exit->signal != 0;
  if (lease.result == EndResult::kKilled && by_signal) {
    text += " " + exit_text(*lease.exit);
  }
  if (lease.result == EndResult::kFailed && lease.exit) {
    text += " " + exit_text(*lease.exit);
  }
  return text;
}

std::string state_of(const LeaseView& lease) {
  std::string text(to_text(lease.state));
  for (const std::string_view flag : words(lease.flags)) text.append(",").append(flag);
  if (lease.state == LeaseState::kEnded) text += ": " + result_of(lease);
  return text;
}

std::string devices_of(std::span<const LeasePart> parts) {
  std::vector<std::string> names;
  for (const LeasePart& part : parts) names.push_back(name_of(part));
  return names.empty() ? "no GPU" : "GPU " + joined(names);
}

std::string device_list(std::span<const LeasePart> parts, const RenderContext& context) {
  constexpr std::size_t kBeginning = 12;  // "GPU-5a1c0d2e"
  std::string text;
  for (const LeasePart& part : parts) {
    text += (text.empty() ? "" : ",");
    text += part.index ? std::to_string(*part.index)
                       : to_text(part.device).substr(0, kBeginning) +
                             std::string(glyphs_of(context.charset).ellipsis);
  }
  return text;
}

std::string stray_text(const Stray& stray, Charset charset) {
  const std::string who = stray.name.empty() ? "a process" : escape_control(stray.name, charset);
  const std::string gpu =
      stray.index ? "GPU " + std::to_string(*stray.index) : to_text(stray.device);
  return who + " (pid " + std::to_string(stray.process.pid) + ") uses " +
         (stray.used ? to_text(*stray.used) : "memory") + " of " + gpu +
         ", which the lease was not given";
}

std::optional<Bytes> used_by(const LeaseView& lease) {
  return sum(lease, &LeasePart::used);
}

std::optional<Bytes> peak_of(const LeaseView& lease) {
  return sum(lease, &LeasePart::peak);
}

Bytes granted_to(const LeaseView& lease) {
  Bytes total;
  for (const LeasePart& part : lease.parts) total += part.granted;
  return total;
}

// A budget with room for all of it, in whole MiB.
std::string full_text(const LeaseView& lease) {
  Bytes wanted;
  Bytes enough;
  for (const LeasePart& part : lease.parts) {
    const Bytes more = part.wanted.value_or(Bytes{});
    const Bytes there = std::max(part.ledger.value_or(Bytes{}), part.used.value_or(Bytes{}));
    wanted += more;
    enough = std::max({enough, part.granted, there + more});
  }
  enough += Bytes{mib(1).value - 1};
  return "an allocation waits for " + to_text(wanted) +
         ", and the budget is full (more: berth resize " + to_text(lease.id) + " -m " +
         size_argument(Bytes{enough.value / mib(1).value * mib(1).value}) + ")";
}

std::string in_gib(std::optional<Bytes> bytes, const RenderContext& context) {
  if (!bytes) return std::string(glyphs_of(context.charset).dash);
  const double value = static_cast<double>(bytes->value) / 0x1p30;
  std::array<char, 32> text{};
  const char* format = value > 0 && value < 0.095 ? "%.2f" : "%.1f";
  static_cast<void>(std::snprintf(text.data(), text.size(), format, value));
  return text.data();
}

std::string size_or_dash(std::optional<Bytes> bytes, const RenderContext& context) {
  return bytes ? to_text(*bytes) : std::string(glyphs_of(context.charset).dash);
}

std::string left_alone_text(const LeaseView& lease) {
  constexpr std::size_t kNamed = 5;
  const std::size_t count = lease.left_alone.size();
  std::string pids;
  for (std::size_t i = 0; i < std::min(count, kNamed); ++i) {
    pids += (i == 0 ? "" : ", ") + std::to_string(lease.left_alone[i]);
  }
  if (count == 1) return "process " + pids + " of it is another user's and left alone";
  return std::to_string(count) + " processes of it (" + pids + (count > kNamed ? ", ..." : "") +
         ") are another user's and left alone";
}

std::string by_whom(const std::optional<UserId>& user, const RenderContext& context) {
  if (!user) return {};
  return *user == context.me ? " by you"
                             : " by " + escape_control(context.user_name(*user), context.charset);
}

std::string pause_text(const Pause& pause, const RenderContext& context) {
  const std::string who = pause.by ? by_whom(pause.by, context).substr(1) + ", " : "";
  return who + age_text(between(pause.since, context.now)) + " ago" +
         (pause.until ? ", for another " + about(*pause.until, context) : "") +
         (pause.reason.empty() ? "" : ": " + escape_control(pause.reason, context.charset));
}

std::string about(UnixMs when, const RenderContext& context) {
  const Duration left = between(context.now, when);
  if (left.ns <= 0) return "any moment";
  if (left < minutes(1)) return "~" + to_text(seconds((left.ns + 999'999'999) / 1'000'000'000));
  if (left < hours(1)) {
    return "~" + std::to_string((left.ns + seconds(30).ns) / minutes(1).ns) + " min";
  }
  return "~" + to_text(left);
}

Duration between(UnixMs earlier, UnixMs later) {
  constexpr std::int64_t kMost = Duration::max().ns / 1'000'000;
  return milliseconds(std::clamp(later.value - earlier.value, -kMost, kMost));
}

std::string age_text(Duration age) {
  return age < seconds(1) ? "<1 s" : to_text(age);
}

std::string moment(UnixMs when, const RenderContext& context) {
  const Duration since = between(when, context.now);
  if (since.ns >= 0) return to_text(when) + " (" + age_text(since) + " ago)";
  return to_text(when) + " (in " + about(when, context) + ")";
}

std::string set_text(const LeaseView& set) {
  const SetProgress progress = set.set.value_or(SetProgress{});
  const auto number = [](std::uint32_t count) { return std::to_string(count); };
  std::string text = "of its " + number(set.request.members) + " members " +
                     number(progress.ended) + " have ended";
  if (progress.failed > 0) text += " (" + number(progress.failed) + " not well)";
  text += ", " + number(progress.begun - progress.ended) + " wait or run, and " +
          number(set.request.members - progress.begun) + " are still to come";
  return text;
}

std::string next_attempt_text(const LeaseView& lease) {
  const Retries retries = lease.retries.value_or(Retries{});
  const std::string ended =
      retries.failed ? "its command ended " + exit_text(*retries.failed) : "its command failed";
  const std::uint32_t used = lease.request.retry_max - retries.left;
  const std::string left = used == 0 ? ""
                                     : ", retry " + std::to_string(used) + " of " +
                                           std::to_string(lease.request.retry_max);
  return ended + " and is started again" + left;
}

std::string after_text(const std::vector<Predecessor>& predecessors) {
  std::vector<std::string> ends;
  ends.reserve(predecessors.size());
  for (const Predecessor& predecessor : predecessors) {
    ends.push_back(to_text(predecessor.lease) + (predecessor.ends == Ends::kOk ? " has ended well"
                                                 : predecessor.ends == Ends::kFailed
                                                     ? " has failed"
                                                     : " has ended"));
  }
  return joined(ends);
}

std::string simulated_line(const RenderContext& context) {
  if (!context.simulated) return {};
  return painted("(the GPU is simulated)", Colour::kDim, context.charset) + "\n";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string_view outcome_text(CheckpointOutcome outcome) {
  if (outcome == CheckpointOutcome::kTimedOut) return "timed out";
  if (outcome == CheckpointOutcome::kUncaught) return "not caught";
  return to_text(outcome);
}

std::string saved_text(const CheckpointEnd& end, Charset charset) {
  const std::string detail = escape_control(end.detail, charset);
  if (end.outcome == CheckpointOutcome::kSaved) {
    return "has saved itself" + (detail.empty() ? "" : " (" + detail + ")");
  }
  return "has not saved itself: " + std::string(outcome_text(end.outcome)) +
         (detail.empty() ? "" : ", " + detail);
}

std::string measure_text(const MeasureTaken& taken, Charset charset) {
  const std::string detail = escape_control(taken.detail, charset);
  return std::string(to_text(taken.measure)) + " for " + std::string(to_text(taken.cause)) + ": " +
         (taken.outcome ? std::string(to_text(*taken.outcome)) : "under way") +
         (detail.empty() ? "" : ", " + detail);
}

std::string way_text(const CheckpointWay& way) {
  return "by " + std::string(to_text(way.kind)) + ", within " + to_text(way.grace) +
         (way.every ? ", each " + to_text(*way.every) : "");
}

}  // namespace berth::cli
