// SPDX-License-Identifier: Apache-2.0
// The two text forms of metrics that Prometheus reads: its own, version 0.0.4, and OpenMetrics 1.0.
// https://prometheus.io/docs/instrumenting/exposition_formats/ and
// https://prometheus.io/docs/specs/om/open_metrics_spec/. Pure; any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace berth::wire {

enum class ExpositionForm : std::uint8_t { kText, kOpenMetrics };
/// What a header Accept asks for; Prometheus's own, where it does not ask for the other.
ExpositionForm form_accepted(std::string_view accept);
std::string_view content_type(ExpositionForm form);

enum class MetricType : std::uint8_t { kGauge, kCounter, kHistogram };

using Label = std::pair<std::string_view, std::string_view>;

/// How often something took at most so long. The last bucket, of all that is longer, is implied.
struct Histogram {
  std::span<const double> bounds;         // Seconds, rising.
  std::span<const std::uint64_t> counts;  // Of each bound alone, and one more for the rest.
  double sum = 0;
};

/// Families one after another, each with its samples right behind it.
class Exposition {
 public:
  explicit Exposition(ExpositionForm form) : form_(form) {}

  /// `name`: with its unit, without `_total`. `help`: one line.
  Exposition& family(std::string_view name, MetricType type, std::string_view help);
  /// Of the family that was begun last, with labels in this order.
  Exposition& sample(double value, std::initializer_list<Label> labels = {});
  Exposition& sample(double value, std::span<const Label> labels);
  Exposition& sample(const Histogram& histogram);
  std::string take() &&;

 private:
  void line(std::string_view suffix, std::span<const Label> labels, double value);

  ExpositionForm form_;
  std::string name_;
  MetricType type_ = MetricType::kGauge;
  std::string text_;
};

}  // namespace berth::wire
