// SPDX-License-Identifier: Apache-2.0
#include "wire/exposition.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"

namespace berth::wire {
namespace {

constexpr std::string_view kTotal = "_total";
// Units by which OpenMetrics wants a line of its own; the name ends in one.
constexpr std::array<std::string_view, 6> kUnits = {"bytes", "seconds", "celsius",
                                                    "watts", "hertz",   "ratio"};

void append_escaped(std::string& to, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      to += "\\\\";
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '"' && quotes) {
      to += "\\\"";
    } else {
      to += c;
    }
  }
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 400> digits{};  // The longest there is has 309 before its point.
  const auto written =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
  return {digits.data(), written.ptr};
}

std::string_view word(MetricType type) {
  switch (type) {
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kCounter:
      return "counter";
    case MetricType::kHistogram:
      break;
  }
  return "histogram";
}

}  // namespace

ExpositionForm form_accepted(std::string_view accept) {
  constexpr std::string_view kName = "application/openmetrics-text";
  const std::size_t at = accept.find(kName);
  if (at == std::string_view::npos) return ExpositionForm::kText;
  // With q=0 it is what is not wanted.
  const std::string_view rest = accept.substr(at, accept.find(',', at) - at);
  const std::size_t quality = rest.find(";q=0");
  const bool refused = quality != std::string_view::npos &&
                       rest.find_first_of("123456789", quality + 3) == std::string_view::npos;
  return refused ? ExpositionForm::kText : ExpositionForm::kOpenMetrics;
}

std::string_view content_type(ExpositionForm form) {
  return form == ExpositionForm::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

Exposition& Exposition::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  type_ = type;
  const bool is_open = form_ == ExpositionForm::kOpenMetrics;
  // The older form knows no families: there a counter is called by its sample.
  const std::string called =
      name_ + std::string(type == MetricType::kCounter && !is_open ? kTotal : "");
  text_.append("# HELP ").append(called).append(" ");
  append_escaped(text_, help, is_open);
  text_.append("\n# TYPE ").append(called).append(" ").append(word(type)).append("\n");
  const std::size_t last = name.rfind('_');
  const std::string_view unit = name.substr(last == std::string_view::npos ? 0 : last + 1);
  for (const std::string_view known : kUnits) {
    if (!is_open || unit != known) continue;
    text_.append("# UNIT ").append(called).append(" ").append(unit).append("\n");
  }
  return *this;
}

Exposition& Exposition::sample(double value, std::initializer_list<Label> labels) {
  return sample(value, std::span(labels.begin(), labels.size()));
}

Exposition& Exposition::sample(double value, std::span<const Label> labels) {
  CHECK(type_ != MetricType::kHistogram);
  line(type_ == MetricType::kCounter ? kTotal : "", labels, value);
  return *this;
}

Exposition& Exposition::sample(const Histogram& histogram) {
  CHECK(type_ == MetricType::kHistogram && histogram.counts.size() == histogram.bounds.size() + 1);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    count += histogram.counts[i];
    // 1.0, not 1: OpenMetrics compares bounds as texts.
    const bool is_last = i == histogram.bounds.size();
    std::string bound = is_last ? "+Inf" : number(histogram.bounds[i]);
    if (!is_last && bound.find('.') == std::string::npos) bound += ".0";
    const std::array<Label, 1> labels = {{{"le", bound}}};
    line("_bucket", labels, static_cast<double>(count));
  }
  line("_sum", {}, histogram.sum);
  line("_count", {}, static_cast<double>(count));
  return *this;
}

void Exposition::line(std::string_view suffix, std::span<const Label> labels, double value) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const auto& [key, label] : labels) {
    text_.append(1, before).append(key).append("=\"");
    append_escaped(text_, label, true);
    text_.append("\"");
    before = ',';
  }
  if (!labels.empty()) text_.append("}");
  text_.append(" ").append(number(value)).append("\n");
}

std::string Exposition::take() && {
  if (form_ == ExpositionForm::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace berth::wire
