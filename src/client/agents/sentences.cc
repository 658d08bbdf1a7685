// SPDX-License-Identifier: Apache-2.0
#include "agents/sentences.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/quantity.h"

namespace berth::agents {
namespace {

constexpr std::size_t kGpuLines = 3;
constexpr std::size_t kBlockersNamed = 3;

std::string sum_text(std::optional<Bytes> bytes) {
  return bytes ? to_text(*bytes) : "an unknown amount";
}

std::string gpus_text(const std::vector<std::uint32_t>& gpus) {
  std::string text;
  for (const std::uint32_t index : gpus) {
    text += (text.empty() ? "GPU " : ", ") + std::to_string(index);
  }
  return text;
}

std::string again_text(std::optional<Duration> after) {
  return after ? "; check again in " + to_text(*after) : "";
}

std::string start_text(std::optional<UnixMs> start, std::optional<Duration> again) {
  return (start ? "expected to start at " + to_text(*start) : "no end of the wait is known") +
         again_text(again) + ".";
}

std::string blockers_text(const std::vector<Blocker>& blockers) {
  std::string text;
  for (const Blocker& blocker : blockers) {
    if (&blocker - blockers.data() == kBlockersNamed) break;
    text += (text.empty() ? "Held by " : ", ") + std::string("lease ") + to_text(blocker.lease) +
            " of " + (blocker.is_yours ? "yours" : blocker.owner) + " (" +
            to_text(blocker.charged) +
            (blocker.expected_end ? " until " + to_text(*blocker.expected_end) : "") + ")";
  }
  return text.empty() ? "" : text + ".\n";
}

std::string asked_text(const LeaseFacts& lease) {
  if (lease.asked.empty() || !lease.is_this_session) return "";
  return "\nThe holder of lease " + to_text(lease.lease) + " is asked something by " +
         lease.asked.back().from + ": gpu_message answers it.";
}

// Of these the daemon's sentence says what is wrong with the request, and names nothing of others.
constexpr std::array<std::string_view, 9> kAboutTheRequest = {
    "invalid",   "never_fits",  "no_device",     "queue_full", "not_supported",
    "disk_full", "bad_request", "unknown_field", "too_fast"};

}  // namespace

std::string text_of(const LeaseFacts& lease) {
  std::string text = "lease " + to_text(lease.lease) + " is " + std::string(to_text(lease.state));
  if (!lease.gpus.empty()) text += ", " + sum_text(lease.granted) + " on " + gpus_text(lease.gpus);
  if (lease.queue_position) text += ", place " + std::to_string(*lease.queue_position);
  if (lease.result) text += ": " + std::string(to_text(*lease.result));
  if (lease.exit_code) text += ", exit status " + std::to_string(*lease.exit_code);
  return text;
}

std::string text_of(const StatusFacts& facts) {
  std::string text;
  if (facts.gpus.empty()) text = "No GPU can be used here.\n";
  for (const GpuFacts& gpu : facts.gpus) {
    if (&gpu - facts.gpus.data() == kGpuLines) {
      text += "… and " + std::to_string(facts.gpus.size() - kGpuLines) + " more GPUs.\n";
      break;
    }
    text += "GPU " + std::to_string(gpu.index) + " (" + gpu.model + "): " + to_text(gpu.grantable) +
            " of " + sum_text(gpu.total) + " can be granted now, " + sum_text(gpu.used) +
            " are used.\n";
  }
  const auto yours = std::ranges::count_if(facts.leases, &LeaseFacts::is_yours);
  text += std::to_string(facts.leases.size() + facts.leases_left_out) + " leases, " +
          std::to_string(yours) + " of them yours; " + std::to_string(facts.waiting) +
          " requests wait.";
  if (facts.simulated) text += " The GPUs are simulated.";
  const auto asked = std::ranges::find_if(
      facts.leases, [](const LeaseFacts& lease) { return !asked_text(lease).empty(); });
  if (asked != facts.leases.end()) text += asked_text(*asked);
  return text;
}

std::string text_of(const FitFacts& facts) {
  if (facts.fits) return "Yes: it would be granted now.";
  return "No: at most " + to_text(facts.largest) + " would be granted now, and " +
         std::to_string(facts.ahead) + " requests are ahead.\n" + blockers_text(facts.blockers) +
         "It is " + start_text(facts.expected_start, facts.check_again_after);
}

std::string text_of(const AcquireAnswer& answer) {
  if (answer.state == Turn::kGranted) {
    return "Granted: " + text_of(answer.lease) + ".\nRun in it with: " + answer.run_with +
           (answer.lease.expires ? "\nIt ends at " + to_text(*answer.lease.expires) +
                                       " unless it is used or renewed."
                                 : "");
  }
  return "Queued: " + text_of(answer.lease) + ".\n" + blockers_text(answer.blockers) +
         "Call again with ticket " + to_text(answer.ticket.value_or(LeaseId{})) + ": " +
         start_text(answer.expected_start, answer.lease.check_again_after);
}

std::string text_of(const RunAnswer& answer) {
  if (answer.job)
    return "Job " + to_text(*answer.job) + " is in the queue; gpu_job says how it goes.";
  return "Run it in your own shell: " + answer.run_with;
}

std::string text_of(const JobAnswer& answer) {
  if (!answer.is_news) {
    return "Nothing new: " + text_of(answer.job) + again_text(answer.job.check_again_after) + ".";
  }
  return text_of(answer.job) + again_text(answer.job.check_again_after) + "; " +
         std::to_string(answer.log.size()) + " lines of its log are in the facts." +
         asked_text(answer.job);
}

std::string text_of(const ControlAnswer& answer) {
  return text_of(answer.lease) +
         (answer.is_under_way ? "; it is under way: gpu_job says how it goes." : ".");
}

std::string text_of(const MessageReply& answer) {
  const std::string which = "Message " + std::to_string(answer.number);
  if (!answer.answer) return which + " was sent, and is not answered yet.";
  return which + ": " + std::string(to_text(*answer.answer)) + "; " + text_of(answer.lease) + ".";
}

std::string text_of(const wire::ApiError& error) {
  const std::string cure = wire::cure_of(error.code);
  const bool is_about_it =
      std::ranges::find(kAboutTheRequest, error.code) != kAboutTheRequest.end();
  std::string text = error.code + (is_about_it ? ": " + error.message : "");
  if (!cure.empty()) text += ". Cure: " + cure;
  if (error.lease) text += ". It is lease " + to_text(*error.lease);
  return text + again_text(error.retry_after) + ".";
}

}  // namespace berth::agents
