// SPDX-License-Identifier: Apache-2.0
#include "cli/render/history.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "cli/render/phrases.h"
#include "cli/render/table.h"

namespace berth::cli {
namespace {

using history::Bucket;
using history::Series;
using history::Session;

// Of a course; the other columns of the table take about so many.
constexpr std::size_t kColumnsMin = 10;
constexpr std::size_t kColumnsMax = 61;
constexpr std::size_t kOtherColumns = 62;
constexpr std::size_t kWidthUnknown = 200;
constexpr std::int64_t kMsPerSecond = 1'000;

std::string gpu_of(const Series& series, const wire::PastFacts& facts,
                   const RenderContext& context) {
  const auto index = facts.indices.find(series.subject.device);
  if (index != facts.indices.end()) return std::to_string(index->second);
  return to_text(series.subject.device).substr(0, 12) +
         std::string(glyphs_of(context.charset).ellipsis);
}

std::string subject_of(const Series& series, const RenderContext& context) {
  const std::string name = escape_control(series.name, context.charset);
  switch (history::kind_of(series.subject)) {
    case history::Kind::kDevice:
      return "GPU";
    case history::Kind::kLease:
      return "lease " + to_text(series.subject.lease) + (name.empty() ? "" : " ") + name;
    case history::Kind::kProcess:
      break;
  }
  return "process " + std::to_string(series.subject.process.pid) + (name.empty() ? "" : " ") + name;
}

// The columns of a course: `step` seconds each, from `first` on.
struct Grid {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::size_t count = 1;
};

// As many steps of the answer in one column as it takes to fit the terminal.
Grid grid_of(const wire::PastAnswer& answer, const RenderContext& context) {
  const std::size_t width = context.width.value_or(kWidthUnknown);
  const auto room = static_cast<std::int64_t>(
      std::clamp(width - std::min(width, kOtherColumns), kColumnsMin, kColumnsMax));
  const std::int64_t step = std::max<std::int64_t>(answer.past.step.ns / seconds(1).ns, 1);
  const std::int64_t since = answer.facts.since.value / kMsPerSecond;
  const std::int64_t until = answer.facts.until.value / kMsPerSecond;
  const std::int64_t steps = (until - since) / step + 1;
  Grid grid{.step = (steps + room - 1) / room * step};
  grid.first = since - (since % grid.step);
  grid.count = static_cast<std::size_t>((until - grid.first) / grid.step + 1);
  return grid;
}

// What is unknown is a hole.
std::string course_of(const Series& series, const Grid& grid, Bytes top,
                      const RenderContext& context) {
  struct Sum {
    std::uint64_t total = 0;
    std::uint64_t known = 0;
  };
  std::vector<Sum> sums(grid.count);
  for (const Bucket& bucket : series.buckets) {
    const std::int64_t at = (std::max(bucket.start, grid.first) - grid.first) / grid.step;
    if (at >= static_cast<std::int64_t>(grid.count)) continue;
    Sum& sum = sums[static_cast<std::size_t>(at)];
    sum.total += bucket.total;
    sum.known += bucket.known;
  }
  std::vector<std::optional<Bytes>> figures;
  figures.reserve(sums.size());
  for (const Sum& sum : sums) {
    figures.push_back(sum.known == 0 ? std::nullopt : std::optional(Bytes{sum.total / sum.known}));
  }
  return sparkline(figures, top, context.charset);
}

std::map<DeviceId, Bytes> highest(const history::Past& past) {
  std::map<DeviceId, Bytes> tops;
  for (const Series& series : past.series) {
    Bytes& top = tops[series.subject.device];
    if (is_share(series.subject.figure)) continue;
    for (const Bucket& bucket : series.buckets) top = std::max(top, bucket.most);
  }
  return tops;
}

constexpr std::uint64_t kPercentMax = 100;

std::vector<Cell> row_of(const Series& series, const wire::PastAnswer& answer, const Grid& grid,
                         Bytes top, const RenderContext& context) {
  Bucket whole = series.buckets.front();
  for (const Bucket& bucket : std::span(series.buckets).subspan(1)) {
    whole.known += bucket.known;
    whole.least = std::min(whole.least, bucket.least);
    whole.most = std::max(whole.most, bucket.most);
    whole.total += bucket.total;
  }
  const bool share = is_share(series.subject.figure);
  const auto value = [&](Bytes figure) {
    return share ? std::to_string(figure.value) + " %" : in_gib(figure, context);
  };
  if (share) top = Bytes{kPercentMax};
  return {{gpu_of(series, answer.facts, context)},
          {subject_of(series, context)},
          {std::string(berth::to_text(series.subject.figure))},
          {course_of(series, grid, top, context)},
          {value(whole.least)},
          {value(whole.mean())},
          {value(whole.most)},
          {value(series.buckets.back().mean())}};
}

// "1.25": hundredths are enough for a bill.
std::string hundredths(std::uint64_t value, std::uint64_t of_one) {
  const std::uint64_t rounded = (value + of_one / 200) / (of_one / 100);
  const std::string part = std::to_string(rounded % 100);
  return std::to_string(rounded / 100) + (part.size() < 2 ? ".0" : ".") + part;
}

constexpr std::uint64_t kMsPerHour = 3'600'000;
constexpr std::uint64_t kMibMsPerGibHour = kMsPerHour * 1'024;

std::uint64_t held_ms_of(const Session& session, UnixMs now) {
  const std::int64_t end = session.ended.value_or(now).value;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(end - session.started.value, 0));
}

std::string outcome_of(const Session& session) {
  return session.result ? std::string(to_text(*session.result)) : "held";
}

std::vector<Cell> row_of(const Session& session, UnixMs now, const RenderContext& context) {
  const std::string dash(glyphs_of(context.charset).dash);
  const bool known = session.known_ms > 0;
  return {{to_text(session.id)},
          {session_of(session.user, escape_control(session.name, context.charset), context)},
          {outcome_of(session)},
          {age_text(between(session.queued, session.started))},
          {age_text(milliseconds(static_cast<std::int64_t>(held_ms_of(session, now))))},
          {hundredths(held_ms_of(session, now) * session.devices, kMsPerHour)},
          {in_gib(session.granted, context)},
          {in_gib(session.peak, context)},
          {known ? hundredths(session.unused_mib_ms, kMibMsPerGibHour) : dash}};
}

constexpr std::size_t kLevels = 8;
constexpr std::array<std::string_view, kLevels> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, kLevels> kAsciiLevels = {"_", ".", ":", "-",
                                                                "=", "+", "*", "#"};

// None has the lowest, and whatever is more than none a higher one.
std::size_t level_of(Bytes figure, Bytes top) {
  if (figure == Bytes{} || top == Bytes{}) return 0;
  const double part = static_cast<double>(figure.value) / static_cast<double>(top.value);
  const auto level = static_cast<std::size_t>(part * static_cast<double>(kLevels));
  return std::clamp<std::size_t>(level, 1, kLevels - 1);
}

}  // namespace

std::string history_text(const wire::PastAnswer& answer, bool header,
                         const RenderContext& context) {
  if (answer.past.series.empty()) {
    return "No data for this period.\n"
           "Leases too short for a sample are in: berth history --sessions\n";
  }
  Table table{.columns = {{.title = "GPU"},
                          {.title = "OF", .shrinks_to = 12, .cut = Column::Cut::kName},
                          {.title = "FIGURE"},
                          {.title = "TREND", .importance = 3},
                          {.title = "MIN", .align = Column::Align::kRight},
                          {.title = "MEAN", .align = Column::Align::kRight},
                          {.title = "MAX", .align = Column::Align::kRight},
                          {.title = "NOW", .align = Column::Align::kRight}},
              .header = header};
  const std::map<DeviceId, Bytes> tops = highest(answer.past);
  const Grid grid = grid_of(answer, context);
  for (const Series& series : answer.past.series) {
    table.rows.push_back(row_of(series, answer, grid, tops.at(series.subject.device), context));
  }
  std::string text = render(std::move(table), context.width, context.charset);
  const std::string note = "GiB; from " + to_text(answer.facts.since) + " to " +
                           to_text(answer.facts.until) + ", a column is " +
                           to_text(seconds(grid.step)) +
                           (context.simulated ? "; the GPU is simulated" : "");
  return text + painted(note, Colour::kDim, context.charset) + "\n";
}

std::string sessions_text(const wire::SessionsAnswer& answer, bool header,
                          const RenderContext& context) {
  if (answer.sessions.empty()) return "No lease held anything in that time.\n";
  Table table{.columns = {{.title = "ID"},
                          {.title = "SESSION", .shrinks_to = 12, .cut = Column::Cut::kName},
                          {.title = "RESULT"},
                          {.title = "WAITED", .align = Column::Align::kRight},
                          {.title = "HELD", .align = Column::Align::kRight},
                          {.title = "GPU-H", .align = Column::Align::kRight},
                          {.title = "GRANTED", .align = Column::Align::kRight},
                          {.title = "PEAK", .align = Column::Align::kRight},
                          {.title = "UNUSED GIB-H", .align = Column::Align::kRight}},
              .header = header};
  std::uint64_t gpu_ms = 0;
  std::uint64_t unused = 0;
  for (const Session& session : answer.sessions) {
    table.rows.push_back(row_of(session, answer.facts.time, context));
    gpu_ms += held_ms_of(session, answer.facts.time) * session.devices;
    unused += session.unused_mib_ms;
  }
  const std::string sums =
      counted(answer.sessions.size(), "lease") + ": " + hundredths(gpu_ms, kMsPerHour) +
      " GPU hours, " + hundredths(unused, kMibMsPerGibHour) + " GiB hours granted and not used" +
      (context.simulated ? "; the GPU is simulated" : "");
  return render(std::move(table), context.width, context.charset) +
         painted(sums, Colour::kDim, context.charset) + "\n";
}

std::string audit_text(const wire::AuditAnswer& answer, bool header, const RenderContext& context) {
  if (answer.audit.empty()) return "Nothing was done to any lease in that time.\n";
  Table table{.columns = {{.title = "TIME"},
                          {.title = "WHO", .shrinks_to = 8, .cut = Column::Cut::kName},
                          {.title = "VERB"},
                          {.title = "LEASE", .shrinks_to = 12, .cut = Column::Cut::kName},
                          {.title = "REASON", .shrinks_to = 12}},
              .header = header};
  const std::string dash(glyphs_of(context.charset).dash);
  for (const AuditEntry& entry : answer.audit) {
    const bool of_lease = entry.lease != LeaseId{};
    table.rows.push_back(
        {{to_text(entry.at)},
         {entry.by ? escape_control(context.user_name(*entry.by), context.charset) : "berthd"},
         {std::string(to_text(entry.verb))},
         {of_lease
              ? to_text(entry.lease) + " (" + session_of(entry.owner, entry.name, context) + ")"
              : dash},
         {entry.reason.empty() ? dash : escape_control(entry.reason, context.charset)}});
  }
  const std::string note = counted(answer.audit.size(), "event") + ", in UTC" +
                           (context.simulated ? "; the GPU is simulated" : "");
  return render(std::move(table), context.width, context.charset) +
         painted(note, Colour::kDim, context.charset) + "\n";
}

std::optional<std::string> monitor_lines(const history::Past& past, bool header) {
  const Series* of_gpu = nullptr;
  for (const Series& series : past.series) {
    if (series.subject.figure != history::Figure::kUsed) continue;
    if (history::kind_of(series.subject) != history::Kind::kDevice) continue;
    if (of_gpu != nullptr) return std::nullopt;
    of_gpu = &series;
  }
  std::string text = header ? "timestamp,memory.used\n" : "";
  if (of_gpu == nullptr) return text;
  for (const Bucket& bucket : of_gpu->buckets) {
    text += to_text(UnixMs{bucket.start * kMsPerSecond}) + ",";
    text += std::to_string(bucket.mean().value / mib(1).value) + "\n";
  }
  return text;
}

std::string sparkline(std::span<const std::optional<Bytes>> figures, Bytes top, Charset charset) {
  const auto& columns = charset.unicode ? kBlocks : kAsciiLevels;
  std::string line;
  for (const std::optional<Bytes>& figure : figures) {
    line += figure ? columns.at(level_of(*figure, top)) : " ";
  }
  return line;
}

}  // namespace berth::cli
