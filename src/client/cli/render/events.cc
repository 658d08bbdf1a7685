// SPDX-License-Identifier: Apache-2.0
#include "cli/render/events.h"

#include <optional>

#include "base/json_string.h"
#include "base/quantity.h"
#include "cli/render/halts.h"
#include "cli/render/messages.h"
#include "cli/render/phrases.h"
#include "cli/render/text.h"
#include "cli/run/words.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/audit.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

using wire::EventName;

std::string strays_text(const LeaseView& lease, const RenderContext& context) {
  if (lease.strays.empty()) return "uses a GPU that it was not given";
  return stray_text(lease.strays.back(), context.charset);
}

std::string save_text(const LeaseView& lease, const RenderContext& context) {
  const auto& last = lease.checkpoints.last;
  return last ? saved_text(*last, context.charset) : "has saved itself";
}

std::string sent_text(const LeaseView& lease, const RenderContext& context) {
  const Message* last = last_sent(lease);
  return "has " + (last == nullptr ? "a message" : message_text(*last, context));
}

std::string answered_text(const LeaseView& lease, const RenderContext& context) {
  const Message* last = last_answered(lease);
  if (last == nullptr) return "has answered a message";
  return "has " + message_text(*last, context) + ", " + answer_text(*last, context);
}

// What has happened to the lease, after its name. Of what its words say alone: nothing.
std::string sentence_of(EventName name, const wire::LeaseAnswer& answer,
                        const RenderContext& context) {
  const LeaseView& lease = answer.view;
  const std::string refusal = answer.refusal ? ": " + answer.refusal->message : "";
  switch (name) {
    case EventName::kLease:
      return "is " + state_of(lease);
    case EventName::kQueued:
      return "waits for " + asked_by(lease.request);
    case EventName::kGranted:
      return "has " + held_text(lease);
    case EventName::kEnded:
      return "has ended: " + (answer.refusal ? answer.refusal->message : result_of(lease));
    case EventName::kParked:
      return "is set aside until its client is there again";
    case EventName::kUnparked:
      return "is in its place in the queue again";
    case EventName::kResized:
      return "has " + to_text(granted_to(lease)) + " now";
    case EventName::kInBudget:
      return "is within its budget again";
    case EventName::kNotFull:
      return "has room in its budget again";
    case EventName::kDegraded:
      return "has lost a GPU";
    case EventName::kCheckpoint:
      return "is asked to save itself";
    case EventName::kCheckpointed:
      return save_text(lease, context);
    case EventName::kSuspended:
    case EventName::kFrozen:
      return halt_notice(lease, context);
    case EventName::kResumed:
      return "has resumed";
    case EventName::kRequeue:
      return "is to be requeued" + by_whom(lease.requeued_by, context);
    case EventName::kRequeued:
      return "waits in the queue again";
    case EventName::kRequeueDropped:
      return "is not requeued" + refusal;
    case EventName::kMessageSent:
      return sent_text(lease, context);
    case EventName::kMessageAnswered:
      return answered_text(lease, context);
    case EventName::kAstray:
      return strays_text(lease, context);
    default:
      return {};
  }
}

std::string measure_event(const LeaseView& lease, const RenderContext& context) {
  if (const std::string text = measure_text(lease); !text.empty()) return text;
  if (lease.measures.empty()) return {};
  return "lease " + to_text(lease.id) + ": " + measure_text(lease.measures.back(), context.charset);
}

std::string pressure_event(const LeaseView& lease) {
  if (const std::string text = pressure_text(lease); !text.empty()) return text;
  return "lease " + to_text(lease.id) + " has room in its budget";
}

// The same where a sentence names the lease itself.
std::string whole_sentence_of(EventName name, const LeaseView& lease,
                              const RenderContext& context) {
  switch (name) {
    case EventName::kOverBudget:
      return above_budget_text(lease);
    case EventName::kFull:
      return "in lease " + to_text(lease.id) + " " + full_text(lease);
    case EventName::kRevoked:
      return revoked_text(lease, context);
    case EventName::kDetached:
      return detached_text(lease, context);
    case EventName::kRequeuing:
      return requeuing_text(lease, context);
    case EventName::kMeasure:
      return measure_event(lease, context);
    case EventName::kPressure:
      return pressure_event(lease);
    default:
      return {};
  }
}

std::string lease_event(EventName name, const wire::LeaseAnswer& answer,
                        const RenderContext& context) {
  const LeaseView& lease = answer.view;
  const std::string who = "lease " + to_text(lease.id) + " (" + session_of(lease, context) + ")";
  if (const std::string rest = sentence_of(name, answer, context); !rest.empty()) {
    return who + " " + rest;
  }
  const std::string whole = whole_sentence_of(name, lease, context);
  return whole.empty() ? who + ": " + std::string(to_text(name)) : whole;
}

std::string unmanaged_event(EventName name, const UnmanagedNews& news,
                            const RenderContext& context) {
  const UnmanagedProcess& process = news.unmanaged_process;
  const std::string who = process.name + " (pid " + std::to_string(process.process.pid) + ") of " +
                          context.user_name(process.user);
  const std::string where = " GPU " + std::to_string(news.index);
  if (name == EventName::kUnmanagedGone) return who + " is gone from" + where;
  const std::string size = process.used ? to_text(*process.used) : "memory";
  return who + " uses " + size + " of" + where + " without a lease";
}

std::string audit_event(const AuditEntry& entry, const RenderContext& context) {
  const std::string lease = entry.lease == LeaseId{}
                                ? "the daemon"
                                : "lease " + to_text(entry.lease) + " (" +
                                      session_of(entry.owner, entry.name, context) + ")";
  return lease + ": " + std::string(to_text(entry.verb)) +
         (entry.reason.empty() ? "" : ", " + entry.reason);
}

std::string device_event(const DeviceView& device) {
  const std::string who = "GPU " + std::to_string(device.index);
  return device.pressure == Pressure::kNormal
             ? who + " has room for the budgets of its leases again"
             : who + " is short of memory: its leases could not have their budgets any more";
}

std::string text_of(const wire::SseEvent& event, const RenderContext& context) {
  const std::optional<EventName> name = parse_word<EventName>(event.event);
  if (!name) return event.event;
  if (*name == EventName::kAlert) {
    const Result<Alert> alert = wire::decode_alert(event.data);
    return alert.ok() ? "alert " + alert->rule + ": " + alert->text : event.event;
  }
  if (*name == EventName::kUnmanagedSeen || *name == EventName::kUnmanagedGone) {
    const Result<UnmanagedNews> news = wire::decode_unmanaged(event.data);
    return news.ok() ? unmanaged_event(*name, *news, context) : event.event;
  }
  if (*name == EventName::kAudit) {
    const Result<AuditEntry> entry = wire::decode_audit_entry(event.data);
    return entry.ok() ? audit_event(*entry, context) : event.event;
  }
  if (*name == EventName::kDevicePressure) {
    const Result<DeviceView> device = wire::decode_device(event.data);
    return device.ok() ? device_event(*device) : event.event;
  }
  const Result<wire::LeaseAnswer> lease = wire::decode_lease(event.data);
  return lease.ok() ? lease_event(*name, *lease, context) : event.event;
}

}  // namespace

std::string event_line(const wire::SseEvent& event, const RenderContext& context) {
  return to_text(context.now) + "  " + escape_control(text_of(event, context), context.charset) +
         "\n";
}

std::string event_json(const wire::SseEvent& event, const RenderContext& context) {
  std::string text = "{\"time\":";
  append_json_string(to_text(context.now), text);
  text += ",\"event\":";
  append_json_string(event.event, text);
  if (!event.id.empty()) {
    text += ",\"id\":";
    append_json_string(event.id, text);
  }
  return text + ",\"data\":" + json_for_terminal(event.data) + "}\n";
}

}  // namespace berth::cli
