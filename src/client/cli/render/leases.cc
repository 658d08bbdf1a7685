// SPDX-License-Identifier: Apache-2.0
#include "cli/render/leases.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"
#include "base/words.h"
#include "cli/render/halts.h"
#include "cli/render/messages.h"
#include "cli/render/phrases.h"
#include "cli/render/table.h"

namespace berth::cli {
namespace {

constexpr std::size_t kBusyColumnOfLeases = 5;

std::string dash(const RenderContext& context) {
  return std::string(glyphs_of(context.charset).dash);
}

// What one lease, or one unmanaged process, uses: the three figures of the column VRAM.
struct Figures {
  std::optional<Bytes> used;
  std::optional<Bytes> peak;
  std::optional<Bytes> granted;
};

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(columns > used ? columns - used : 0, ' ') + text;
}

std::string vram_cell(const Figures& figures, const RenderContext& context) {
  constexpr std::size_t kColumns = 5;  // "179.1"
  return padded(in_gib(figures.used, context), kColumns) + " /" +
         padded(in_gib(figures.peak, context), kColumns) + " /" +
         padded(in_gib(figures.granted, context), kColumns);
}

Colour colour_of(const LeaseView& lease) {
  if (lease.state == LeaseState::kEnded) {
    return lease.result == EndResult::kOk ? Colour::kDim : Colour::kRed;
  }
  const LeaseFlags& flags = lease.flags;
  if (flags.over_budget || flags.degraded || flags.revoking || flags.astray) return Colour::kRed;
  if (lease.state == LeaseState::kHeld) return flags.full ? Colour::kYellow : Colour::kGreen;
  return Colour::kYellow;
}

// How long it has been in its state, as far as that is known.
std::string age_of(const LeaseView& lease, const RenderContext& context) {
  if (lease.started_at) {
    return age_text(between(*lease.started_at, lease.ended_at.value_or(context.now)));
  }
  return age_text(between(lease.queued_at, lease.ended_at.value_or(context.now)));
}

std::string left_of(const LeaseView& lease, const RenderContext& context) {
  if (lease.state == LeaseState::kEnded || lease.state == LeaseState::kWaiting)
    return dash(context);
  if (lease.expires_at) return about(*lease.expires_at, context);
  if (!lease.expected_end) return dash(context);
  const Duration over = between(*lease.expected_end, context.now);
  if (over.ns > 0) return "over " + to_text(over);
  return about(*lease.expected_end, context);
}

std::string vram_of(const LeaseView& lease, const RenderContext& context) {
  if (lease.set && lease.state == LeaseState::kWaiting) {
    return std::to_string(lease.set->ended) + " of " + std::to_string(lease.request.members) +
           ", " + size_asked_by(lease.request) + " each";
  }
  if (lease.state == LeaseState::kWaiting) return "asks " + size_asked_by(lease.request);
  return vram_cell({used_by(lease), peak_of(lease), granted_to(lease)}, context);
}

std::string percent_or_nothing(std::optional<std::uint32_t> percent) {
  return percent ? std::to_string(*percent) + " %" : "";
}

// On the GPU where it computes most.
std::string busy_of(const LeaseView& lease) {
  std::optional<std::uint32_t> most;
  for (const LeasePart& part : lease.parts) {
    if (part.gpu_utilization) most = std::max(most.value_or(0), *part.gpu_utilization);
  }
  return lease.state == LeaseState::kHeld ? percent_or_nothing(most) : "";
}

std::string hold_reason(const OnHold& hold) {
  return hold.reason.empty() ? "" : ": " + hold.reason;
}

// "held, idle 2h": so it stands in lists.
std::string state_in_row(const LeaseView& lease, const RenderContext& context) {
  const std::optional<Retry> next = next_attempt_of(lease);
  if (next && next->not_before > context.now) {
    return state_of(lease) + ", retry " + about(next->not_before, context);
  }
  if (lease.hold) return state_of(lease) + hold_reason(*lease.hold);
  if (!lease.idle_since) return state_of(lease);
  return state_of(lease) + ", idle " + age_text(between(*lease.idle_since, context.now));
}

std::string gpus_of(const LeaseView& lease, const RenderContext& context) {
  return lease.parts.empty() ? dash(context) : device_list(lease.parts, context);
}

std::vector<Cell> row_of(const LeaseView& lease, Detail detail, const RenderContext& context) {
  std::vector<Cell> row = {
      {to_text(lease.id), Colour::kBold},
      {session_of(lease, context)},
      {state_in_row(lease, context), colour_of(lease)},
      {gpus_of(lease, context)},
      {vram_of(lease, context)},
      {busy_of(lease)},
      {age_of(lease, context)},
      {left_of(lease, context)},
  };
  if (detail == Detail::kWide) {
    row.push_back({std::string(to_text(lease.request.priority))});
    row.push_back({lease.command ? std::to_string(lease.command->pid) : dash(context)});
    row.push_back({to_text(lease.queued_at)});
    row.push_back({lease.handle == Handle{} ? dash(context) : to_text(lease.handle)});
  }
  row.push_back({escape_control(lease.request.command, context.charset)});
  return row;
}

std::vector<Cell> row_of(const UnmanagedProcess& unmanaged_process, std::uint32_t gpu,
                         Detail detail, const RenderContext& context) {
  const std::string what = unmanaged_process.lease
                               ? " (lease " + to_text(*unmanaged_process.lease) + ", astray)"
                               : " (unmanaged)";
  std::vector<Cell> row = {
      {dash(context)},
      {session_of(unmanaged_process.user, {}, context) + what},
      {dash(context)},
      {std::to_string(gpu)},
      {vram_cell({.used = unmanaged_process.used}, context)},
      {percent_or_nothing(unmanaged_process.gpu_utilization)},
      {dash(context)},
      {dash(context)},
  };
  if (detail == Detail::kWide) {
    row.push_back({dash(context)});
    row.push_back({std::to_string(unmanaged_process.process.pid)});
    row.push_back({dash(context)});
    row.push_back({dash(context)});
  }
  row.push_back({escape_control(unmanaged_process.name, context.charset)});
  return row;
}

std::vector<Cell> row_of(const ProcessRow& process, const RenderContext& context) {
  constexpr std::size_t kFigure = 5;
  return {{""},
          {process.label},
          {process.name},
          {process.gpus},
          {padded(in_gib(process.used, context), kFigure)},
          {percent_or_nothing(process.busy)},
          {""},
          {""},
          {process.command}};
}

std::vector<Column> columns_for(Detail detail) {
  constexpr auto kRight = Column::Align::kRight;
  std::vector<Column> columns = {
      {.title = "ID", .align = kRight},
      {.title = "SESSION", .shrinks_to = 10, .shrinks_after = 3, .cut = Column::Cut::kName},
      {.title = "STATE", .shrinks_to = 12, .shrinks_after = 9},
      {.title = "GPU", .importance = 3},
      {.title = "GiB used/peak/granted", .importance = 6},
      {.title = "BUSY", .align = kRight, .importance = 1},
      {.title = "AGE", .align = kRight, .importance = 4},
      {.title = "LEFT", .align = kRight, .importance = 5},
  };
  if (detail == Detail::kWide) {
    columns.push_back({.title = "PRIORITY"});
    columns.push_back({.title = "PID", .align = kRight});
    columns.push_back({.title = "QUEUED"});
    columns.push_back({.title = "HANDLE"});
  }
  columns.push_back({.title = "COMMAND", .shrinks_to = 12, .importance = 2});
  return columns;
}

std::string moment_or_none(std::optional<UnixMs> when, const RenderContext& context) {
  return when ? moment(*when, context) : std::string();
}

std::string process_list(std::span<const Process> processes) {
  std::string text;
  for (const Process& process : processes) {
    text += (text.empty() ? "" : " ") + std::to_string(process.pid);
  }
  return text;
}

std::string part_text(const LeasePart& part, const RenderContext& context) {
  const std::string busy = percent_or_nothing(part.gpu_utilization);
  return "granted " + to_text(part.granted) + ", used " + size_or_dash(part.used, context) +
         ", peak " + size_or_dash(part.peak, context) +
         (busy.empty() ? "" : ", " + busy + " busy") + ", " + to_text(part.device);
}

std::string drift_text(std::int64_t drift) {
  if (drift == 0) return "no drift";
  const Bytes amount{drift < 0 ? 0 - static_cast<std::uint64_t>(drift)
                               : static_cast<std::uint64_t>(drift)};
  return std::string("drift ") + (drift < 0 ? "-" : "+") + to_text(amount);
}

// What its programs have charged, and how far the driver agrees.
std::string ledger_text(const LeasePart& part) {
  std::string text;
  if (part.ledger) text = to_text(*part.ledger) + " charged";
  if (part.drift) text += ", " + drift_text(*part.drift);
  const std::uint64_t refused = part.refused.value_or(0);
  if (refused > 0) {
    text += (text.empty() ? "" : ", ") + counted(refused, "allocation") + " refused";
  }
  const Bytes wanted = part.wanted.value_or(Bytes{});
  if (wanted > Bytes{}) {
    text += (text.empty() ? "" : ", ") + to_text(wanted) + " waited for";
  }
  return text;
}

std::string progress_text(const Progress& progress, const RenderContext& context) {
  std::string text = std::to_string(progress.done);
  const std::uint64_t total = progress.total.value_or(0);
  if (total > 0) {
    const auto share = static_cast<double>(progress.done) / static_cast<double>(total);
    text += " of " + std::to_string(total) + " (" + std::to_string(static_cast<int>(share * 100)) +
            " %)";
  }
  if (!progress.phase.empty()) text += ", " + escape_control(progress.phase, context.charset);
  if (!progress.note.empty()) text += ", " + escape_control(progress.note, context.charset);
  return text + ", told " + age_text(between(progress.at, context.now)) + " ago";
}

// Those of its table that were said, as they are typed.
std::string options_text(const Request& request) {
  static const Request kDefaults;
  std::string text;
  for_each_field<Request, side::kBody>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    if constexpr (!kField.typed.name.empty()) {
      const auto& value = kField.place.get(request);
      if (value == kField.place.get(kDefaults)) return;
      text.append(text.empty() ? "" : " ").append(kField.typed.name);
      using T = std::remove_cvref_t<decltype(value)>;
      if constexpr (HasWords<T> || std::is_same_v<T, Duration>) {
        text.append("=").append(to_text(value));
      } else if constexpr (std::is_same_v<T, std::string>) {
        text.append("=").append(value);
      } else if constexpr (!std::is_same_v<T, bool>) {
        text.append("=").append(std::to_string(value));
      }
    }
  });
  return text;
}

void add_saves(Facts& facts, const LeaseView& lease, const RenderContext& context) {
  if (lease.request.checkpoint) facts.add("checkpoint", way_text(*lease.request.checkpoint));
  const Checkpoints& saves = lease.checkpoints;
  if (saves.asked) facts.add("asked to save", moment(saves.asked->at, context));
  if (saves.last) {
    const std::string detail = escape_control(saves.last->detail, context.charset);
    facts.add("last asked", std::string(outcome_text(saves.last->outcome)) +
                                (detail.empty() ? "" : ", " + detail) + ", " +
                                moment(saves.last->at, context));
  }
  facts.add("last saved", moment_or_none(saves.saved, context));
  if (const auto grace = lease.request.requeue_grace) {
    const std::string step(lease.requeue ? to_text(*lease.requeue) : "");
    facts.add("requeue", "stops within " + to_text(*grace) + (step.empty() ? "" : ", now " + step));
  }
  if (const std::optional<Retries>& retries = lease.retries) {
    facts.add("retries", std::to_string(retries->left) + " of " +
                             std::to_string(lease.request.retry_max) + " left" +
                             (retries->grown ? ", given more memory after it ran out" : ""));
  }
  if (const std::optional<Retry> next = next_attempt_of(lease)) {
    facts.add("next attempt", moment(next->not_before, context));
  }
  if (lease.restarts > 0) facts.add("restarts", std::to_string(lease.restarts));
}

std::string rule_text(const MessageRule& rule, const RenderContext& context) {
  std::string text(to_text(rule.answer));
  if (rule.lasts) text += " " + to_text(*rule.lasts);
  std::vector<std::string> users;
  users.reserve(rule.users.size());
  for (const std::uint32_t user : rule.users) {
    users.push_back(escape_control(context.user_name(UserId{user}), context.charset));
  }
  return text + (users.empty() ? "" : ", from " + joined(users));
}

void add_messages(Facts& facts, const LeaseView& lease, const RenderContext& context) {
  if (const auto& rule = lease.request.on_message) {
    facts.add("on message", rule_text(*rule, context));
  }
  for (const Message& message : lease.messages) {
    facts.add("message", numbered_text(message, context) + ", " + answer_text(message, context) +
                             ", " + moment(message.at, context));
  }
}

std::string pressure_text(const LeaseView& lease) {
  const bool away = lease.state == LeaseState::kSuspended;  // It uses nothing of its budget.
  if (away || (lease.pressure == Pressure::kNormal && !lease.full_in)) return {};
  std::string text(to_text(lease.pressure));
  if (lease.full_in) text += ", full in about " + to_text(*lease.full_in) + " at this rate";
  return text;
}

void add_parts(Facts& facts, const LeaseView& lease, const RenderContext& context) {
  for (const LeasePart& part : lease.parts) {
    facts.add(devices_of({&part, 1}), part_text(part, context));
    facts.add("ledger", ledger_text(part));
  }
}

void add_strays(Facts& facts, const LeaseView& lease, const RenderContext& context) {
  for (const Stray& stray : lease.strays) facts.add("astray", stray_text(stray, context.charset));
}

void add_processes(Facts& facts, const LeaseView& lease) {
  if (lease.command) facts.add("pid", std::to_string(lease.command->pid));
  if (lease.supervisor) facts.add("supervisor", std::to_string(lease.supervisor->pid));
  facts.add("members", process_list(lease.members));
}

}  // namespace

Table lease_table(std::span<const LeaseView> leases, std::span<const DeviceView> devices,
                  Detail detail, const RenderContext& context) {
  std::vector<LeaseLine> lines;
  for (const LeaseView& lease : leases) lines.emplace_back(&lease);
  for (const DeviceView& device : devices) {
    for (const UnmanagedProcess& unmanaged_process : device.unmanaged_processes) {
      lines.emplace_back(UnmanagedRow{&unmanaged_process, device.index});
    }
  }
  return lease_table(lines, detail, context);
}

Table lease_table(std::span<const LeaseLine> lines, Detail detail, const RenderContext& context) {
  Table table{.columns = columns_for(detail)};
  for (const LeaseLine& line : lines) {
    if (const auto* lease = std::get_if<const LeaseView*>(&line)) {
      table.rows.push_back(row_of(**lease, detail, context));
    } else if (const auto* unmanaged = std::get_if<UnmanagedRow>(&line)) {
      table.rows.push_back(row_of(*unmanaged->process, unmanaged->gpu, detail, context));
    } else {
      table.rows.push_back(row_of(std::get<ProcessRow>(line), context));
    }
  }
  drop_if_empty(table, kBusyColumnOfLeases);
  return table;
}

std::string lease_details(const LeaseView& lease, const RenderContext& context) {
  const Request& request = lease.request;
  Facts facts;
  facts.add("state", state_of(lease));
  facts.add("halted", halt_words(lease, std::nullopt, context));
  facts.add("asked", asked_by(request) + (request.learned ? ", by what it used before" : ""));
  add_parts(facts, lease, context);
  add_strays(facts, lease, context);
  facts.add("pressure", pressure_text(lease));
  facts.add("session", escape_control(request.session, context.charset));
  facts.add("priority", std::string(to_text(request.priority)));
  facts.add("options", options_text(request));
  facts.add("command", escape_control(request.command, context.charset));
  for (const auto& [key, value] : request.labels) {
    facts.add("label",
              escape_control(key, context.charset) + "=" + escape_control(value, context.charset));
  }
  add_processes(facts, lease);
  if (lease.queue_position) facts.add("in the queue", std::to_string(*lease.queue_position) + ".");
  facts.add("queued", moment(lease.queued_at, context));
  facts.add("started", moment_or_none(lease.started_at, context));
  if (lease.progress) facts.add("progress", progress_text(*lease.progress, context));
  facts.add("expected end", moment_or_none(lease.expected_end, context));
  facts.add("expires", moment_or_none(lease.expires_at, context));
  facts.add("idle since", moment_or_none(lease.idle_since, context));
  facts.add("turn ends", moment_or_none(lease.turn_ends_at, context));
  facts.add("ended", moment_or_none(lease.ended_at, context));
  if (lease.ended_by)
    facts.add("ended by", escape_control(context.user_name(*lease.ended_by), context.charset));
  if (!lease.left_alone.empty()) facts.add("left alone", left_alone_text(lease));
  if (request.eta) facts.add("eta", to_text(*request.eta));
  if (request.limit) facts.add("limit", to_text(*request.limit));
  if (!request.after.empty()) facts.add("starts when", after_text(request.after));
  if (request.not_before && !next_attempt_of(lease))
    facts.add("not before", moment(*request.not_before, context));
  if (lease.set) facts.add("set", set_text(lease));
  if (request.member) {
    facts.add("member",
              std::to_string(request.member->number) + " of set " + to_text(request.member->set));
  }
  if (lease.hold) {
    facts.add("on hold", "since " + moment(lease.hold->since, context) +
                             by_whom(lease.hold->by, context) + hold_reason(*lease.hold));
  }
  if (lease.pause && !lease.halt) facts.add("paused", pause_text(*lease.pause, context));
  add_saves(facts, lease, context);
  add_messages(facts, lease, context);
  for (const MeasureTaken& taken : lease.measures) {
    facts.add("measure", measure_text(taken, context.charset) + ", " + moment(taken.at, context));
  }
  if (lease.handle != Handle{}) facts.add("handle", to_text(lease.handle));
  std::string title = "Lease " + to_text(lease.id) + "  " + session_of(lease, context);
  if (context.simulated) title += "  (the GPU is simulated)";
  return painted(title, Colour::kBold, context.charset) + "\n" +
         std::move(facts).text(context.charset);
}

}  // namespace berth::cli
