// SPDX-License-Identifier: Apache-2.0
// The fields of each fact, named once: the writer and the reader of record_json.cc both walk them,
// so that neither can forget one. `archive(name, field)` is called for each; a reader's archive
// leaves an absent field as it is. Only record_json.cc includes this.
#pragma once

#include <type_traits>

#include "model/record.h"

namespace berth::record_fields {

/// T or const T: a reader fills what a writer only looks at.
template <class Field, class T>
concept Is = std::is_same_v<std::remove_const_t<Field>, T>;

void walk(auto& archive, Is<Process> auto& process) {
  archive.required("pid", process.pid);
  archive.required("start_ticks", process.start_ticks);
}
void walk(auto& archive, Is<ExitStatus> auto& exit) {
  archive.required("code", exit.code);
  archive.required("signal", exit.signal);
}
void walk(auto& archive, Is<Part> auto& part) {
  archive.required("uuid", part.device);
  archive.required("vram_granted_bytes", part.budget);
}
void walk(auto& archive, Is<LeasePart> auto& part) {
  archive.required("uuid", part.device);
  archive("index", part.index);
  archive.required("vram_granted_bytes", part.granted);
  archive("vram_used_bytes", part.used);
  archive("vram_peak_bytes", part.peak);
  archive("vram_ledger_bytes", part.ledger);
  archive("vram_drift_bytes", part.drift);
  archive("refused", part.refused);
  archive("vram_wanted_bytes", part.wanted);
}
void walk(auto& archive, Is<LeaseFlags> auto& flags) {
  archive("over_budget", flags.over_budget);
  archive("parked", flags.parked);
  archive("revoking", flags.revoking);
  archive("degraded", flags.degraded);
  archive("unclaimed", flags.unclaimed);
  archive("full", flags.full);
  archive("checkpointing", flags.checkpointing);
}
void walk(auto& archive, Is<CheckpointWay> auto& way) {
  archive.required("by", way.kind);
  archive.required("grace_ns", way.grace);
  archive("every_ns", way.every);
}
void walk(auto& archive, Is<CheckpointAsk> auto& ask) {
  archive.required("number", ask.number);
  archive.required("reason", ask.reason);
  archive.required("at_ms", ask.at);
}
void walk(auto& archive, Is<CheckpointEnd> auto& end) {
  archive.required("number", end.number);
  archive.required("reason", end.reason);
  archive.required("outcome", end.outcome);
  archive("detail", end.detail);
  archive.required("at_ms", end.at);
}
void walk(auto& archive, Is<Checkpoints> auto& checkpoints) {
  archive("asked", checkpoints.asked);
  archive("last", checkpoints.last);
  archive("saved_ms", checkpoints.saved);
}
void walk(auto& archive, Is<MeasureTaken> auto& taken) {
  archive.required("number", taken.number);
  archive.required("measure", taken.measure);
  archive.required("cause", taken.cause);
  archive("save", taken.save);
  archive.required("begun_ns", taken.begun);
  archive.required("at_ms", taken.at);
  archive("outcome", taken.outcome);
  archive("detail", taken.detail);
}
void walk(auto& archive, Is<Request> auto& request) {
  archive("name", request.name);
  archive("session", request.session);
  archive("command", request.command);
  archive("labels", request.labels);
  archive.required("priority", request.priority);
  archive.required("share", request.share);
  archive.required("vram_bytes", request.vram);
  archive.required("device_count", request.device_count);
  archive("devices", request.devices);
  archive("mixed", request.mixed);
  archive("eta_ns", request.eta);
  archive("limit_ns", request.limit);
  archive("wait_ns", request.wait_max);
  archive("ttl_ns", request.ttl);
  archive.required("leftovers", request.leftovers);
  archive("may_yield", request.may_yield);
  archive("ancestors", request.ancestors);
  archive("learned", request.learned);
  archive("over_budget", request.over_budget);
  archive("checkpoint", request.checkpoint);
  archive("requeue_grace_ns", request.requeue_grace);
}
void walk(auto& archive, Is<Pause> auto& pause) {
  archive.required("since_ms", pause.since);
  archive("reason", pause.reason);
  archive("until_ms", pause.until);
  archive("by", pause.by);
}
void walk(auto& archive, Is<LeaseView> auto& view) {
  archive.required("id", view.id);
  archive.required("handle", view.handle);
  archive.required("user_id", view.user);
  archive.required("request", view.request);
  archive.required("state", view.state);
  archive("flags", view.flags);
  archive("result", view.result);
  archive("exit", view.exit);
  archive("process", view.command);
  archive("supervisor", view.supervisor);
  archive("members", view.members);
  archive("devices", view.parts);
  archive("queue_position", view.queue_position);
  archive.required("queued_ms", view.queued_at);
  archive("started_ms", view.started_at);
  archive("ended_ms", view.ended_at);
  archive("expected_end_ms", view.expected_end);
  archive("expires_ms", view.expires_at);
  archive("waited_ns", view.waited);
  archive("checkpoints", view.checkpoints);
  archive("measures", view.measures);
  archive("restarts", view.restarts);
  archive("pause", view.pause);
  archive("moved_by", view.moved_by);
  archive("ended_by", view.ended_by);
}

void walk(auto& archive, Is<RequestQueued> auto& fact) {
  archive.required("id", fact.id);
  archive.required("handle", fact.handle);
  archive.required("user_id", fact.user);
  archive("supervisor", fact.supervisor);
  archive.required("request", fact.request);
}
void walk(auto& archive, Is<RequestPassed> auto& fact) {
  archive.required("id", fact.id);
}
void walk(auto& archive, Is<RequestParked> auto& fact) {
  archive.required("id", fact.id);
  archive.required("parked", fact.parked);
}
void walk(auto& archive, Is<LeaseGranted> auto& fact) {
  archive.required("id", fact.id);
  archive.required("devices", fact.parts);
  archive.required("passed_others", fact.passed_others);
}
void walk(auto& archive, Is<OfferLapsed> auto& fact) {
  archive.required("id", fact.id);
  archive.required("parked", fact.parked);
}
void walk(auto& archive, Is<LeaseClaimed> auto& fact) {
  archive.required("id", fact.id);
  archive("process", fact.command);
}
void walk(auto& archive, Is<MemberSeen> auto& fact) {
  archive.required("id", fact.id);
  archive.required("process", fact.process);
}
void walk(auto& archive, Is<MemberGone> auto& fact) {
  archive.required("id", fact.id);
  archive.required("process", fact.process);
}
void walk(auto& archive, Is<CommandEnded> auto& fact) {
  archive.required("id", fact.id);
  archive("exit", fact.exit);
}
void walk(auto& archive, Is<LeaseResized> auto& fact) {
  archive.required("id", fact.id);
  archive.required("share", fact.share);
  archive.required("devices", fact.parts);
}
void walk(auto& archive, Is<GrowthQueued> auto& fact) {
  archive.required("id", fact.id);
  archive.required("vram_bytes", fact.vram);
  archive("until_ns", fact.until);
}
void walk(auto& archive, Is<GrowthDropped> auto& fact) {
  archive.required("id", fact.id);
}
void walk(auto& archive, Is<LeaseRenewed> auto& fact) {
  archive.required("id", fact.id);
  archive.required("expires_ns", fact.expires);
  archive.required("expires_ms", fact.expires_wall);
}
void walk(auto& archive, Is<LeaseRevoked> auto& fact) {
  archive.required("id", fact.id);
  archive.required("result", fact.result);
  archive.required("kill_at_ns", fact.kill_at);
  archive("by", fact.by);
}
void walk(auto& archive, Is<LeaseReleasing> auto& fact) {
  archive.required("id", fact.id);
  archive.required("result", fact.result);
  archive("by", fact.by);
}
void walk(auto& archive, Is<SuspendBegun> auto& fact) {
  archive.required("id", fact.id);
  archive("used_bytes", fact.used);
  archive("yields_to", fact.yields_to);
  archive("turn", fact.turn);
}
void walk(auto& archive, Is<LeaseSuspended> auto& fact) {
  archive.required("id", fact.id);
  archive("used_bytes", fact.used);
}
void walk(auto& archive, Is<ResumeQueued> auto& fact) {
  archive.required("id", fact.id);
  archive.required("queued", fact.queued);
}
void walk(auto& archive, Is<ResumeBegun> auto& fact) {
  archive.required("id", fact.id);
}
void walk(auto& archive, Is<LeaseResumed> auto& fact) {
  archive.required("id", fact.id);
}
void walk(auto& archive, Is<LeaseFrozen> auto& fact) {
  archive.required("id", fact.id);
}
void walk(auto& archive, Is<LeaseThawed> auto& fact) {
  archive.required("id", fact.id);
}
void walk(auto& archive, Is<Peak> auto& peak) {
  archive.required("uuid", peak.device);
  archive.required("vram_peak_bytes", peak.used);
  archive("refused", peak.refused);
}
void walk(auto& archive, Is<LeaseEnded> auto& fact) {
  archive.required("id", fact.id);
  archive.required("result", fact.result);
  archive("peaks", fact.peaks);
  archive("by", fact.by);
}
void walk(auto& archive, Is<CheckpointAsked> auto& fact) {
  archive.required("id", fact.id);
  archive.required("number", fact.number);
  archive.required("reason", fact.reason);
}
void walk(auto& archive, Is<CheckpointEnded> auto& fact) {
  archive.required("id", fact.id);
  archive.required("number", fact.number);
  archive.required("outcome", fact.outcome);
  archive("detail", fact.detail);
}
void walk(auto& archive, Is<RequeueAsked> auto& fact) {
  archive.required("id", fact.id);
  archive("unsaved", fact.unsaved);
  archive("by", fact.by);
}
void walk(auto& archive, Is<RequeueBegun> auto& fact) {
  archive.required("id", fact.id);
  archive.required("kill_at_ns", fact.kill_at);
}
void walk(auto& archive, Is<RequeueDropped> auto& fact) {
  archive.required("id", fact.id);
  archive.required("result", fact.result);
}
void walk(auto& archive, Is<LeaseRequeued> auto& fact) {
  archive.required("id", fact.id);
}
void walk(auto& archive, Is<MeasureBegun> auto& fact) {
  archive.required("id", fact.id);
  archive.required("number", fact.number);
  archive.required("measure", fact.measure);
  archive.required("cause", fact.cause);
  archive("save", fact.save);
}
void walk(auto& archive, Is<MeasureEnded> auto& fact) {
  archive.required("id", fact.id);
  archive.required("number", fact.number);
  archive.required("outcome", fact.outcome);
  archive("detail", fact.detail);
}
void walk(auto& archive, Is<LeasePaused> auto& fact) {
  archive.required("id", fact.id);
  archive("reason", fact.reason);
  archive("until_ns", fact.until);
  archive("until_ms", fact.until_wall);
  archive("by", fact.by);
}
void walk(auto& archive, Is<LeaseMoved> auto& fact) {
  archive.required("id", fact.id);
  archive.required("uuids", fact.devices);
  archive("by", fact.by);
}
void walk(auto& archive, Is<LeaseRestored> auto& fact) {
  archive.required("lease", fact.view);
  archive.required("queued_at_ns", fact.queued_instant);
  archive.required("queued_sequence", fact.queued_sequence);
  archive("granted_at_ns", fact.granted_instant);
  archive("granted_sequence", fact.granted_sequence);
  archive("passed_since_ns", fact.passed_since);
  archive("parked_since_ns", fact.parked_since);
  archive("passed_others", fact.passed_others);
  archive("claimed", fact.claimed);
  archive("command_ended", fact.command_ended);
  archive("expires_ns", fact.expires);
  archive("kill_at_ns", fact.kill_at);
  archive("ending", fact.ending);
  archive("releasing_since_ns", fact.releasing_since);
  archive("growth", fact.growth);
  archive("growth_queued_ns", fact.growth_queued);
  archive("checkpoint_asked_ns", fact.checkpoint_asked);
  archive("suspension", fact.suspension);
  archive("suspended_since_ns", fact.suspended_since);
  archive("suspended", fact.suspended);
  archive("resume_queued_ns", fact.resume_queued);
  archive("resume_sequence", fact.resume_sequence);
  archive("resume_begun", fact.resume_begun);
  archive("runs_since_ns", fact.runs_since);
  archive("away_ns", fact.away);
  archive("requeue", fact.requeue);
  archive("requeue_kill_at_ns", fact.requeue_kill_at);
  archive("waited_before_ns", fact.waited_before);
  archive("frozen", fact.frozen);
  archive("pause_ends_ns", fact.pause_ends);
  archive("moved_from", fact.moved_from);
  archive("departed", fact.departed);
}
void walk(auto& archive, Is<UsageRestored> auto& fact) {
  archive.required("user_id", fact.user);
  archive("session", fact.session);
  archive.required("byte_seconds", fact.byte_seconds);
  archive.required("counted_at_ns", fact.at);
}
void walk(auto& archive, Is<PastRun> auto& run) {
  archive.required("vram_peak_bytes", run.peak);
  archive("refused", run.refused);
}
void walk(auto& archive, Is<CommandRestored> auto& fact) {
  archive.required("user_id", fact.user);
  archive.required("fingerprint", fact.fingerprint);
  archive.required("runs", fact.runs);
}
void walk(auto& archive, Is<CountersRestored> auto& fact) {
  archive.required("next_id", fact.next_id);
  archive.required("last_sequence", fact.last_sequence);
}

}  // namespace berth::record_fields
