// SPDX-License-Identifier: Apache-2.0
#include "cli/render/plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/json_writer.h"
#include "base/quantity.h"
#include "cli/render/phrases.h"
#include "cli/render/table.h"
#include "cli/render/why.h"

namespace berth::cli {
namespace {

using What = UpStep::What;

constexpr std::int64_t kLine = 32;  // Letters of the line of time.

/// Until the last end or start that is known.
Duration span_of(const std::vector<OutlookRow>& rows) {
  Duration span = minutes(1);
  for (const OutlookRow& row : rows) {
    span = std::max({span, row.starts.value_or(Duration{}), row.ends.value_or(Duration{})});
  }
  return span;
}

std::string line_of(const OutlookRow& row, Duration span, Charset charset) {
  const char* runs = charset.unicode ? "█" : "#";
  const char* waits = charset.unicode ? "·" : ".";
  std::string line;
  for (std::int64_t i = 0; i < kLine; ++i) {
    const Duration from{span.ns / kLine * i};
    const bool over = row.ends && *row.ends <= from;
    const bool begun = row.starts && *row.starts <= from + Duration{span.ns / (kLine * 2)};
    line += over && begun && i > 0 ? " " : begun ? runs : waits;
  }
  if (row.what == What::kIsDone) return "";
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string start_text(const OutlookRow& row) {
  if (row.what == What::kIsDone) return "";
  if (row.what == What::kGoesOn && row.starts == Duration{}) return "runs";
  if (!row.starts) return "?";
  return row.starts == Duration{} ? "now" : "in " + age_text(*row.starts);
}

std::string end_text(const OutlookRow& row) {
  if (row.what == What::kIsDone) return "ended: ok";
  return row.ends ? "in " + age_text(*row.ends) : "?";
}

std::string why_text(const OutlookRow& row) {
  std::string text = row.what == What::kReplace ? "it has changed: started anew" : "";
  if (!row.reason) return text;
  if (!text.empty()) text += "; ";
  text += phrase_of(WhyView{.reason = *row.reason});
  for (std::size_t i = 0; i < row.holders.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + row.holders[i];
  }
  return text;
}

}  // namespace

std::string plan_text(std::vector<OutlookRow> rows, const RenderContext& context) {
  const Duration span = span_of(rows);
  std::ranges::stable_sort(rows, {}, [](const OutlookRow& row) {
    return std::tuple(row.what != What::kIsDone, row.starts.value_or(Duration::max()));
  });
  const std::string title = "now .. " + age_text(span);
  Table table{.columns = {{.title = "SESSION"},
                          {.title = "LEASE", .align = Column::Align::kRight},
                          {.title = "STARTS"},
                          {.title = "ENDS"},
                          {.title = title, .importance = 3},
                          {.title = "WHY", .shrinks_to = 12}},
              .rows = {}};
  for (const OutlookRow& row : rows) {
    table.rows.push_back({{.text = row.session},
                          {.text = row.lease ? to_text(*row.lease) : ""},
                          {.text = start_text(row)},
                          {.text = end_text(row)},
                          {.text = line_of(row, span, context.charset)},
                          {.text = escape_control(why_text(row), context.charset)}});
  }
  return render(std::move(table), context.width, context.charset) +
         (context.simulated ? "(the GPU is simulated)\n" : "");
}

std::string plan_json(const std::vector<OutlookRow>& rows, UnixMs now, bool simulated) {
  JsonWriter out;
  out.begin_object().key("schema").text("berth/plan/v1");
  out.key("time").text(to_text(now)).key("simulated").boolean(simulated).key("items").begin_array();
  for (const OutlookRow& row : rows) {
    out.begin_object().key("session").text(row.session).key("id");
    if (row.lease) {
      out.number(row.lease->value);
    } else {
      out.null();
    }
    out.key("step").text(to_text(row.what));
    out.key("starts_in_ms").milliseconds(row.starts).key("ends_in_ms").milliseconds(row.ends);
    out.key("reason");
    if (row.reason) {
      out.text(to_text(*row.reason));
    } else {
      out.null();
    }
    out.key("holders").begin_array();
    for (const std::string& holder : row.holders) out.text(holder);
    out.end_array().end_object();
  }
  return out.end_array().end_object().take();
}

}  // namespace berth::cli
