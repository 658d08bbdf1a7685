// SPDX-License-Identifier: Apache-2.0
#include "cli/top/tree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/render/phrases.h"
#include "cli/top/pieces.h"

namespace berth::cli::top {
namespace {

// Unless the user looks for something that no process without a lease is.
bool shows_unmanaged(const State& state) {
  return state.find().empty() && !state.options().mine;
}

// What was told of it, and bare those that the lease itself names.
std::vector<ProcessFacts> processes_of(const LeaseView& lease, const Known& known) {
  std::map<std::int32_t, ProcessFacts> all;
  const auto told = known.processes.find(lease.id);
  if (told != known.processes.end()) {
    for (const ProcessFacts& process : told->second) all[process.pid] = process;
  }
  for (const Process& process : named_by(lease)) {
    all.try_emplace(process.pid, ProcessFacts{.pid = process.pid, .lease = lease.id});
  }
  std::vector<ProcessFacts> processes;
  processes.reserve(all.size());
  for (auto& [pid, process] : all) processes.push_back(std::move(process));
  return processes;
}

// The processes of one lease, from the oldest ancestors on, as lines.
class Branches {
 public:
  Branches(const LeaseView& lease, const Known& known, const RenderContext& context)
      : lease_(lease),
        known_(known),
        context_(context),
        signs_(signs_of(context.charset)),
        processes_(processes_of(lease, known)) {
    for (std::size_t i = 0; i < processes_.size(); ++i) at_[processes_[i].pid] = i;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const std::int32_t parent = processes_[i].parent;
      const bool is_known = at_.contains(parent) && parent != processes_[i].pid;
      children_[is_known ? parent : 0].push_back(i);
    }
  }

  std::vector<TreeLine> lines() && {
    std::vector<std::size_t> roots = children_[0];
    // Where each is said to be another's child, it has no end: they are roots, one after the other.
    for (const std::size_t root : roots) reach(root);
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (reached_.contains(i)) continue;
      roots.push_back(i);
      reach(i);
    }
    reached_.clear();
    for (const std::size_t root : roots) reached_.insert(root);
    add(roots, "");
    if (left_out_ > 0) {
      lines_.push_back({.line = ProcessRow{.label = std::string(signs_.last_child) + "and " +
                                                    std::to_string(left_out_) + " more"},
                        .lease = lease_.id});
    }
    return std::move(lines_);
  }

 private:
  void reach(std::size_t root) {
    std::vector<std::size_t> open = {root};
    while (!open.empty()) {
      const std::size_t one = open.back();
      open.pop_back();
      if (!reached_.insert(one).second) continue;
      const auto below = children_.find(processes_[one].pid);
      if (below != children_.end())
        open.insert(open.end(), below->second.begin(), below->second.end());
    }
  }

  // Depth first; what is reached already is not added again.
  void add(const std::vector<std::size_t>& siblings, const std::string& before) {
    constexpr std::size_t kDeepest = 12;  // Letters in front of a process.
    for (std::size_t i = 0; i < siblings.size(); ++i) {
      const bool is_last = i + 1 == siblings.size();
      const ProcessFacts& process = processes_[siblings[i]];
      if (lines_.size() >= kProcessesShown) {
        ++left_out_;
      } else {
        const bool ends = is_last && (processes_.size() <= kProcessesShown || !before.empty());
        const std::string_view sign = ends ? signs_.last_child : signs_.child;
        lines_.push_back({.line = row(process, before + std::string(sign)), .lease = lease_.id});
      }
      const auto below = children_.find(process.pid);
      if (below == children_.end()) continue;
      std::vector<std::size_t> fresh;
      for (const std::size_t child : below->second) {
        if (reached_.insert(child).second) fresh.push_back(child);
      }
      const std::string_view between = is_last ? signs_.below_last : signs_.below;
      add(fresh, columns_of(before) < kDeepest ? before + std::string(between) : before);
    }
  }

  ProcessRow row(const ProcessFacts& process, const std::string& before) const {
    const UserId user = process.user.value_or(lease_.user);
    ProcessRow row{
        .label = before + std::to_string(process.pid) + " " + session_of(user, {}, context_),
        .name = escape_control(process.name, context_.charset),
        .command = escape_control(process.command, context_.charset)};
    for (const ProcessFacts::Use& use : process.uses) {
      row.used = row.used.value_or(Bytes{}) + use.used;
      const auto device = std::ranges::find(known_.devices, use.device, &DeviceView::id);
      if (device == known_.devices.end()) continue;
      row.gpus += (row.gpus.empty() ? "" : ",") + std::to_string(device->index);
      if (const auto busy = busy_of(use.device)) row.busy = std::max(row.busy.value_or(0), *busy);
    }
    return row;
  }

  // What the lease computes there is told; of a process it is known where no other could have.
  std::optional<std::uint32_t> busy_of(DeviceId device) const {
    const auto uses = [&](const ProcessFacts& process) {
      return std::ranges::find(process.uses, device, &ProcessFacts::Use::device) !=
             process.uses.end();
    };
    if (std::ranges::count_if(processes_, uses) != 1) return std::nullopt;
    const auto part = std::ranges::find(lease_.parts, device, &LeasePart::device);
    return part == lease_.parts.end() ? std::nullopt : part->gpu_utilization;
  }

  const LeaseView& lease_;
  const Known& known_;
  const RenderContext& context_;
  const Signs& signs_;
  const std::vector<ProcessFacts> processes_;
  std::map<std::int32_t, std::size_t> at_;                     // By pid.
  std::map<std::int32_t, std::vector<std::size_t>> children_;  // By the pid of the parent.
  std::set<std::size_t> reached_;
  std::vector<TreeLine> lines_;
  std::size_t left_out_ = 0;
};

// A line for the device, and one for each process on it without a lease there.
void add_unmanaged(std::vector<TreeLine>& lines, const DeviceView& device,
                   const RenderContext& context) {
  const Signs& signs = signs_of(context.charset);
  const std::string gpu = std::to_string(device.index);
  lines.push_back({ProcessRow{
      .label = "GPU " + gpu, .name = "unmanaged", .gpus = gpu, .used = device.unmanaged}});
  const auto& processes = device.unmanaged_processes;
  for (const UnmanagedProcess& process : processes) {
    const bool is_last = &process == &processes.back();
    const std::string_view sign = is_last ? signs.last_child : signs.child;
    lines.push_back(
        {ProcessRow{.label = std::string(sign) + std::to_string(process.process.pid) + " " +
                             session_of(process.user, {}, context),
                    .name = process.lease ? "astray of " + to_text(*process.lease)
                                          : escape_control(process.name, context.charset),
                    .gpus = gpu,
                    .used = process.used,
                    .busy = process.gpu_utilization,
                    .command = escape_control(process.name, context.charset)}});
  }
}

}  // namespace

std::vector<Process> named_by(const LeaseView& lease) {
  std::vector<Process> named = lease.members;
  if (lease.command) named.push_back(*lease.command);
  return named;
}

std::vector<ProcessFacts> processes_in(const history::Past& past) {
  std::int64_t last = 0;
  for (const history::Series& series : past.series) {
    if (!series.buckets.empty()) last = std::max(last, series.buckets.back().start);
  }
  // The last step has only begun: one that is not told of there may be so soon.
  const std::int64_t since = last - (past.step.ns / seconds(1).ns);
  std::map<std::pair<LeaseId, std::int32_t>, ProcessFacts> all;
  for (const history::Series& series : past.series) {
    const history::Subject& subject = series.subject;
    const bool is_wanted = history::kind_of(subject) == history::Kind::kProcess &&
                           subject.lease != LeaseId{} && subject.figure == history::Figure::kUsed &&
                           !series.buckets.empty();
    if (!is_wanted || series.buckets.back().start < since) continue;
    ProcessFacts& process = all[{subject.lease, subject.process.pid}];
    process.pid = subject.process.pid;
    process.lease = subject.lease;
    process.user = series.user;
    process.name = series.name;
    process.uses.push_back({subject.device, series.buckets.back().mean()});
  }
  std::vector<ProcessFacts> processes;
  processes.reserve(all.size());
  for (auto& [key, process] : all) processes.push_back(std::move(process));
  return processes;
}

std::vector<TreeLine> tree_of(const State& state, const RenderContext& context) {
  std::vector<TreeLine> lines;
  for (const LeaseView* lease : state.rows()) {
    lines.push_back({.line = lease, .lease = lease->id, .is_lease = true});
    for (TreeLine& line : Branches(*lease, state.shown(), context).lines()) {
      lines.push_back(std::move(line));
    }
  }
  if (!shows_unmanaged(state)) return lines;
  for (const DeviceView& device : state.shown().devices) {
    if (!device.unmanaged_processes.empty()) add_unmanaged(lines, device, context);
  }
  return lines;
}

std::vector<TreeLine> list_of(const State& state) {
  std::vector<TreeLine> lines;
  for (const LeaseView* lease : state.rows()) {
    lines.push_back({.line = lease, .lease = lease->id, .is_lease = true});
  }
  if (!shows_unmanaged(state)) return lines;
  for (const DeviceView& device : state.shown().devices) {
    for (const UnmanagedProcess& process : device.unmanaged_processes) {
      lines.push_back({.line = UnmanagedRow{&process, device.index}});
    }
  }
  return lines;
}

}  // namespace berth::cli::top
