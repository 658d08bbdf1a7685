// SPDX-License-Identifier: Apache-2.0
// `berth replay`: how long tasks of the past, or of a public trace, would have waited under each
// order of the queue. The daemon's own decisions are made here, in a simulated time; a daemon is
// asked for its history only, and nothing of it changes.
#include "replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/json_writer.h"
#include "base/quantity.h"
#include "cli/output_mode.h"
#include "cli/past.h"
#include "cli/render/table.h"
#include "cli/verbs.h"
#include "os/files.h"
#include "replay/figures.h"
#include "replay/past.h"
#include "replay/trace.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

constexpr std::size_t kTraceBytesMax = std::size_t{64} << 20U;
constexpr std::uint32_t kGpusMax = 256;
constexpr std::uint32_t kShorterMax = 1'000'000;

struct ReplayArgs {
  std::optional<std::string> path;
  bool history = false;
  PastArgs past;
  std::vector<std::string> policies;  // Empty: all.
  bool eta = false;
  std::optional<std::uint32_t> gpus;
  std::optional<Bytes> vram;
  std::optional<std::uint32_t> shorter;
};

struct Replayed {
  replay::Machine machine;
  std::vector<replay::Figures> orders;
};

void declare_replay(Options& options, ReplayArgs& asked) {
  options.add("--history", store(asked.history), "what the daemon has granted, instead of a trace");
  options.add("--since=TIME", store(asked.past.since),
              "with --history: from when on: an age (24h), or 2026-02-07T13:15Z; a week");
  options.add("--until=TIME", store(asked.past.until), "likewise: up to when; now");
  options.add("--policy=ORDER", store(asked.policies),
              "only this order; may be given several times", texts_of<Order>());
  options.add("--eta", store(asked.eta), "each task says how long it takes");
  options.add("--no-eta", clear(asked.eta), "none does, which is the default");
  options.add("-g,--gpus=N", store(asked.gpus), "how many GPUs; 8, or those of the daemon");
  options.add("-m,--vram=SIZE", store(asked.vram),
              "memory of each; 16G, or as much as the daemon's have");
  options.add("--shorter=N", store(asked.shorter),
              "each task takes the N-th part of its time: for traces of larger machines");
  options.operand("[TRACE]", store(asked.path), "a list of tasks as CSV, with a head");
}

// What of it goes with nothing else that was asked; empty: nothing.
std::string at_odds_in(const ReplayArgs& asked) {
  if (asked.history == asked.path.has_value()) return "name a TRACE, or say --history";
  if (!asked.history && !(asked.past.since + asked.past.until).empty()) {
    return "--since and --until go with --history";
  }
  if (asked.gpus && (*asked.gpus == 0 || *asked.gpus > kGpusMax)) {
    return "--gpus is from 1 to " + std::to_string(kGpusMax);
  }
  if (asked.shorter && (*asked.shorter == 0 || *asked.shorter > kShorterMax)) {
    return "--shorter is from 1 to " + std::to_string(kShorterMax);
  }
  return "";
}

Result<std::vector<replay::Task>> read_tasks(const std::string& path, Bytes capacity) {
  TRY(text, os::read_file(path, kTraceBytesMax));
  Result<std::vector<replay::Task>> tasks = replay::parse_trace(text, capacity);
  if (!tasks.ok()) return Error{tasks.error().code, path + ": " + tasks.error().message};
  return tasks;
}

// Nothing: it was said why not.
std::optional<std::vector<replay::Task>> past_tasks(const ReplayArgs& asked, DaemonSession& session,
                                                    replay::Machine& machine) {
  if (!session.open()) return std::nullopt;
  const auto list = session.ask({.route = wire::Route::kDevices}, wire::decode_devices);
  if (!list) return std::nullopt;
  const std::vector<DeviceView>& devices = list->list.items;
  if (!devices.empty()) {
    machine = {.devices = static_cast<std::uint32_t>(devices.size()), .capacity = {}};
    for (const DeviceView& device : devices) {
      machine.capacity = std::max(machine.capacity, device.capacity.value_or(Bytes{}));
    }
  }
  PastArgs past = asked.past;
  past.sessions = true;
  const auto body = session.get(target_of(past));
  if (!body) return std::nullopt;
  const auto answer = session.understood(wire::decode_sessions(*body));
  if (!answer) return std::nullopt;
  std::vector<replay::Task> tasks = replay::tasks_of(answer->sessions, answer->facts.time);
  if (tasks.empty()) {
    session.fail(ExitCode::kNoInput,
                 "the history has no leases of that time: ask for more with --since");
    return std::nullopt;
  }
  return tasks;
}

Replayed replay_all(const ReplayArgs& asked, const std::vector<replay::Task>& tasks,
                    const replay::Machine& machine) {
  Replayed all{.machine = machine, .orders = {}};
  for (const std::string_view word : texts_of<Order>()) {
    const bool wanted =
        asked.policies.empty() || std::ranges::find(asked.policies, word) != asked.policies.end();
    if (!wanted) continue;
    const std::optional<Order> known = parse_word<Order>(word);
    const Order order = checked(known);
    const replay::Played played = replay::play(tasks, machine, replay::settings_for(order));
    all.orders.push_back(replay::figures_of(order, tasks, machine, played));
  }
  return all;
}

void write_waits(JsonWriter& writer, const replay::Figures& figures, std::string_view name,
                 const replay::Waits& waits) {
  writer.begin_object().key("order").text(to_text(figures.order)).key("class").text(name);
  writer.key("tasks").number(waits.tasks);
  writer.key("wait_mean_ms").milliseconds(waits.mean);
  writer.key("wait_median_ms").milliseconds(waits.median);
  writer.key("wait_p95_ms").milliseconds(waits.p95);
  writer.key("wait_p99_ms").milliseconds(waits.p99);
  writer.key("slowdown_mean").real(waits.slowdown_mean);
  writer.key("slowdown_p95").real(waits.slowdown_p95);
  const bool of_all = &waits == &figures.all;
  const auto only_of_all = [&](double value) {
    return of_all ? std::optional(value) : std::nullopt;
  };
  writer.key("memory_part").real(only_of_all(figures.memory_part));
  writer.key("tasks_per_hour").real(only_of_all(figures.tasks_per_hour));
  writer.key("span_ms").milliseconds(of_all ? std::optional(figures.span) : std::nullopt);
  writer.key("refused");
  if (of_all) {
    writer.number(figures.refused);
  } else {
    writer.null();
  }
  writer.end_object();
}

std::string replay_json(const ReplayArgs& asked, const Replayed& all) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/replay/v1");
  writer.key("source").text(asked.history ? "history" : asked.path.value_or(""));
  writer.key("gpus").number(all.machine.devices).key("vram_bytes").bytes(all.machine.capacity);
  writer.key("shorter").number(asked.shorter.value_or(1)).key("eta").boolean(asked.eta);
  writer.key("items").begin_array();
  for (const replay::Figures& figures : all.orders) {
    write_waits(writer, figures, "all", figures.all);
    for (const auto& [priority, waits] : figures.classes) {
      write_waits(writer, figures, to_text(priority), waits);
    }
  }
  return writer.end_array().end_object().take();
}

std::string tenths(double value) {
  const auto scaled = static_cast<std::uint64_t>(std::llround(value * 10));
  return std::to_string(scaled / 10) + "." + std::to_string(scaled % 10);
}

std::vector<Cell> row_of(std::string_view order, std::string_view name,
                         const replay::Waits& waits) {
  return {{.text = std::string(order)},          {.text = std::string(name)},
          {.text = std::to_string(waits.tasks)}, {.text = to_text(waits.mean)},
          {.text = to_text(waits.median)},       {.text = to_text(waits.p95)},
          {.text = to_text(waits.p99)},          {.text = tenths(waits.slowdown_mean)},
          {.text = tenths(waits.slowdown_p95)}};
}

std::string replay_text(const Replayed& all, const RenderContext& context, bool header) {
  using Align = Column::Align;
  Table table{.columns = {{.title = "ORDER"},
                          {.title = "CLASS"},
                          {.title = "TASKS", .align = Align::kRight},
                          {.title = "WAIT MEAN", .align = Align::kRight},
                          {.title = "MEDIAN", .align = Align::kRight},
                          {.title = "95 OF 100", .align = Align::kRight},
                          {.title = "99 OF 100", .align = Align::kRight},
                          {.title = "SLOWED", .align = Align::kRight},
                          {.title = "95 OF 100", .align = Align::kRight}},
              .rows = {},
              .header = header};
  std::string text;
  for (const replay::Figures& figures : all.orders) {
    table.rows.push_back(row_of(to_text(figures.order), "all", figures.all));
    for (const auto& [priority, waits] : figures.classes) {
      table.rows.push_back(row_of("", to_text(priority), waits));
    }
    text += std::string(to_text(figures.order)) + ": " + tenths(figures.memory_part * 100) +
            " % of the memory granted, " + tenths(figures.tasks_per_hour) + " tasks an hour, " +
            to_text(figures.span) + " until all was done";
    if (figures.refused > 0) {
      text += "; " + std::to_string(figures.refused) + " fit on no such GPUs";
    }
    text += ".\n";
  }
  return render(std::move(table), context.width, context.charset) + text;
}

}  // namespace

int run_replay(Invocation& invocation) {
  OutputMode output_mode(invocation);
  ReplayArgs asked;
  invocation.about =
      "Plays tasks again, with the daemon's own decisions and a simulated time: those of a trace, "
      "or what the daemon has granted in the last week. A line for each order of the queue "
      "(policy.order) and each priority: how long they waited, and how many times as long as they "
      "ran they took. Nothing is changed, and no GPU is used.";
  invocation.examples = {
      {"berth replay --history --since 30d", "would another order have suited the last month"},
      {"berth replay tasks.csv --shorter 10 --policy fifo --policy value", "a trace, two orders"}};
  declare_replay(invocation.options, asked);
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  if (const std::string wrong = at_odds_in(asked); !wrong.empty()) {
    return invocation.usage_error(wrong);
  }
  replay::Machine machine;
  std::vector<replay::Task> tasks;
  if (asked.history) {
    auto found = past_tasks(asked, output_mode.session(), machine);
    if (!found) return output_mode.session().status();
    tasks = *std::move(found);
  } else {
    machine.capacity = asked.vram.value_or(machine.capacity);
    auto read = read_tasks(asked.path.value_or(""), machine.capacity);
    if (!read.ok()) {
      if (read.error().code != Errc::kCorrupt) return invocation.fail(read.error());
      return invocation.fail(ExitCode::kDataError, read.error().message);
    }
    tasks = *std::move(read);
  }
  machine = {.devices = asked.gpus.value_or(machine.devices),
             .capacity = asked.vram.value_or(machine.capacity)};
  replay::shorten(tasks, asked.shorter.value_or(1));
  if (asked.eta) replay::tell_times(tasks);
  const Replayed all = replay_all(asked, tasks, machine);
  return output_mode.show([&]() -> std::optional<std::string> {
    if (output_mode.choice().is_for_people()) {
      return replay_text(all, output_mode.context(), output_mode.choice().header);
    }
    const std::string json = replay_json(asked, all);
    return output_mode.for_programs({.json = json, .items = "items"});
  });
}

}  // namespace berth::cli
