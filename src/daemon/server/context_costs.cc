// SPDX-License-Identifier: Apache-2.0
#include "server/context_costs.h"

#include <algorithm>
#include <ranges>

#include "base/number.h"

// Note [How a context is measured]
//
// A process that has charged exactly what it has allocated, and was found twice with the same
// account and the same figure of the driver, has the rest for its contexts, and for what the guard
// does not see: code, local memory. That is learnt for the model of the device under this driver,
// and kept: few programs are such witnesses, so it may take long to be learnt. It is learnt for the
// user of the process alone: a witness is believed at its word, and a user who lies harms
// themselves alone. Of the last few processes the least one counts: whatever else a process has can
// only make it look dearer, and is found as drift. Of a lease's own contexts the dearest one
// counts: what was charged for one of them beyond that is certainly too much.

namespace berth::server {
namespace {

using Place = std::pair<DeviceId, Process>;

std::map<Place, Bytes> figures_of(const Sample& sample) {
  std::map<Place, Bytes> figures;
  for (const DeviceSample& device : sample.devices) {
    if (device.lost || device.asleep || !device.processes) continue;
    for (const ProcessSample& process : *device.processes) {
      if (process.alive && process.used) figures[{device.id, process.process}] = *process.used;
    }
  }
  return figures;
}

Bytes in_pages(Bytes bytes) {
  const std::uint64_t page = ContextCosts::kPage.value;
  return {(bytes.value + page - 1) / page * page};
}

Bytes least_of(const std::deque<std::pair<Process, Bytes>>& costs) {
  return std::ranges::min(costs, {}, &std::pair<Process, Bytes>::second).second;
}

constexpr std::string_view kFirstLine = "berth contexts 2\n";
constexpr std::string_view kFirstLineBefore = "berth contexts 1\n";  // Its lines name no user.
constexpr std::size_t kFieldMax = 128;

// Whether it can stand in a field of a line.
bool is_a_field(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !text.empty() && text.size() <= kFieldMax && std::ranges::none_of(text, is_control);
}

struct Line {
  Bytes cost;
  UserId user;
  std::string driver;
  std::string model;
};

std::string_view take_field(std::string_view& text) {
  const std::size_t end = text.find('\t');
  const std::string_view field = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return field;
}

// "BYTES<tab>USER<tab>DRIVER<tab>MODEL"; without USER where it is said whose all are.
std::optional<Line> line_in(std::string_view text, std::optional<UserId> all_of) {
  const auto cost = parse_number<std::uint64_t>(take_field(text));
  const auto user = all_of ? all_of->value : parse_number<std::uint32_t>(take_field(text));
  if (!cost || !user) return std::nullopt;
  Line line{.cost = {*cost}, .user = {*user}, .driver = std::string(take_field(text)), .model = {}};
  line.model = text;
  const bool possible =
      line.cost > Bytes{} && line.cost <= ContextCosts::kMost && line.cost == in_pages(line.cost);
  if (!possible || !is_a_field(line.driver) || !is_a_field(line.model)) return std::nullopt;
  return line;
}

}  // namespace

void ContextCosts::look(const Sample& sample, const std::vector<ContextLook>& looks) {
  if (!sample.trouble.empty()) return;
  if (driver_ != sample.driver_version) {
    driver_ = sample.driver_version;
    known_.clear();
  }
  for (const DeviceSample& device : sample.devices) {
    if (!device.lost && !device.model.empty()) models_[device.id] = device.model;
  }
  const std::map<Place, Bytes> figures = figures_of(sample);
  std::map<Key, Known> known;
  for (const ContextLook& look : looks) {
    const Key key{look.lease, look.device, look.process};
    Known now{.look = look, .measured = std::nullopt, .cost = std::nullopt};
    if (const auto told = figures.find({look.device, look.process}); told != figures.end())
      now.measured = told->second;
    if (const auto before = known_.find(key); before != known_.end()) {
      now.cost = before->second.cost;
      const bool twice = look.unchanged && now.measured && before->second.look == look &&
                         before->second.measured == now.measured;
      if (twice && look.exact && *now.measured > look.beside) {
        const Bytes cost = in_pages(saturating_sub(*now.measured, look.beside));
        if (cost <= kMost) {
          now.cost = cost;
          learn(look, cost);
        }
      }
    }
    known.emplace(key, now);
  }
  known_ = std::move(known);
}

// If there are too many models, one of the user who has most makes way; of another driver, if it
// can.
ContextCosts::Costs& ContextCosts::costs_of(const Model& model) {
  if (!costs_.contains(model) && costs_.size() >= kModelsMax) {
    std::map<UserId, std::size_t> counts;
    for (const auto& [of, costs] : costs_) ++counts[of.user];
    const UserId most =
        std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
    const auto is_old = [&](const auto& entry) {
      return entry.first.user == most && entry.first.driver != driver_;
    };
    const auto old = std::ranges::find_if(costs_, is_old);
    const auto any =
        std::ranges::find(costs_, most, [](const auto& entry) { return entry.first.user; });
    costs_.erase(old == costs_.end() ? any : old);
  }
  return costs_[model];
}

void ContextCosts::learn(const ContextLook& look, Bytes cost) {
  const auto model = models_.find(look.device);
  if (model == models_.end()) return;
  const Process process = look.process;
  Costs& costs = costs_of({look.user, driver_, model->second});
  const auto known = std::ranges::find(costs, process, &std::pair<Process, Bytes>::first);
  if (known != costs.end()) {
    known->second = std::min(known->second, cost);
    return;
  }
  costs.emplace_back(process, cost);
  if (costs.size() > kRemembered) costs.pop_front();
}

std::optional<Bytes> ContextCosts::of(UserId user, DeviceId device) const {
  const auto model = models_.find(device);
  const auto costs =
      model == models_.end() ? costs_.end() : costs_.find({user, driver_, model->second});
  return costs == costs_.end() ? std::nullopt : std::optional(least_of(costs->second));
}

std::vector<ContextSample> ContextCosts::on(const Sample& sample) const {
  std::vector<ContextSample> known;
  const std::string& driver = sample.driver_version.empty() ? driver_ : sample.driver_version;
  for (const DeviceSample& device : sample.devices) {
    // One that sleeps tells neither; it is the same device still.
    const auto seen = models_.find(device.id);
    const std::string& name =
        device.model.empty() && seen != models_.end() ? seen->second : device.model;
    for (const auto& [model, costs] : costs_) {
      if (model.driver != driver || model.name != name) continue;
      known.push_back({.user = model.user, .device = device.id, .cost = least_of(costs)});
    }
  }
  return known;
}

std::optional<Bytes> ContextCosts::most(Handle lease, DeviceId device) const {
  std::optional<Bytes> most;
  for (auto at = known_.lower_bound({lease, device, Process{.pid = 0, .start_ticks = 0}});
       at != known_.end() && at->second.look.lease == lease && at->second.look.device == device;
       ++at) {
    if (!at->second.cost) return std::nullopt;
    most = std::max(most, at->second.cost);
  }
  return most;
}

std::string ContextCosts::to_text() const {
  std::string text(kFirstLine);
  for (const auto& [model, costs] : costs_) {
    if (!is_a_field(model.driver) || !is_a_field(model.name)) continue;
    text.append(std::to_string(least_of(costs).value)).append("\t");
    text.append(std::to_string(model.user.value))
        .append("\t")
        .append(model.driver)
        .append("\t")
        .append(model.name) += '\n';
  }
  return text;
}

// What is recalled counts as the oldest of the processes that were measured.
Status ContextCosts::recall(std::string_view text, UserId own) {
  const bool before = text.starts_with(kFirstLineBefore);
  if (!before && !text.starts_with(kFirstLine))
    return Error{Errc::kCorrupt, "it is not of this version"};
  std::size_t unread = 0;
  for (const auto part : std::views::split(text.substr(kFirstLine.size()), '\n')) {
    if (part.empty()) continue;
    const std::optional<Line> line =
        line_in(std::string_view(part), before ? std::optional(own) : std::nullopt);
    if (!line) {
      ++unread;
    } else {
      costs_of({line->user, line->driver, line->model}) = {{Process{}, line->cost}};
    }
  }
  if (unread == 0) return Unit{};
  return Error{Errc::kCorrupt, std::to_string(unread) + " of its lines cannot be read"};
}

}  // namespace berth::server
