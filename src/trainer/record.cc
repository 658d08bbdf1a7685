// SPDX-License-Identifier: Apache-2.0
#include "trainer/record.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "train/json_line.h"

namespace berth::trainer {
namespace {

using train::JsonLine;

double seconds_of(Duration duration) {
  return static_cast<double>(duration.ns) / 1e9;
}

constexpr double kMib = 1 << 20;

}  // namespace

Result<Record> Record::open(const std::string& folder) {
  Record record(folder);
  if (folder.empty()) return record;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const std::string path = folder + "/metrics.ndjson";
  if (!failure) record.metrics_.open(path, std::ios::app);
  if (!record.metrics_.is_open()) {
    return Error{Errc::kCannotCreate, path + ": cannot be written" +
                                          (failure ? ": " + failure.message() : std::string())};
  }
  return record;
}

void Record::write(const std::string& line) {
  if (metrics_.is_open()) metrics_ << line << '\n';
}

void Record::begin(const train::Settings& settings) {
  JsonLine keys;
  for (const train::KeyAndValue& each : train::values_of(settings)) {
    keys.text(each.key, each.value);
  }
  write(JsonLine().object("settings", keys).str());
}

void Record::step(const StepReport& report, Duration training, Bytes memory) {
  JsonLine line;
  line.count("step", report.step)
      .text("phase", to_text(report.phase))
      .flag("predicted", report.predicted)
      .number("loss", report.loss)
      .number("rate", report.rate)
      .number("gradient_norm", report.gradient_norm)
      .number("prediction_error", report.prediction_error)
      .number("confidence", report.confidence)
      .text("level", to_text(report.verdict.level))
      .count("pieces", report.pieces)
      .flag("skipped", report.skipped)
      .flag("rolled_back", report.rolled_back)
      .number("seconds", seconds_of(report.times.total))
      .number("forward_seconds", seconds_of(report.times.forward))
      .number("backward_seconds", seconds_of(report.times.backward))
      .number("update_seconds", seconds_of(report.times.update))
      .number("trial_seconds", seconds_of(report.times.trial))
      .number("training_seconds", seconds_of(training))
      .count("memory_bytes", memory.value);
  write(line.str());
  const auto step = static_cast<double>(report.step);
  if (!report.predicted) {
    loss_by_step_.points.push_back({step, report.loss});
    loss_by_time_.points.push_back({seconds_of(training), report.loss});
  }
  memory_by_step_.points.push_back({step, static_cast<double>(memory.value) / kMib});
}

void Record::validation(std::uint64_t step, const Summary& so_far) {
  const double seconds = seconds_of(so_far.training);
  JsonLine line;
  line.count("step", step)
      .number("training_seconds", seconds)
      .number("validation_loss", so_far.validation_loss)
      .number("average_loss", so_far.average_loss);
  write(line.str());
  validation_by_step_.points.push_back({static_cast<double>(step), so_far.validation_loss});
  validation_by_time_.points.push_back({seconds, so_far.validation_loss});
}

void Record::end(const Summary& summary) {
  JsonLine line;
  line.count("steps", summary.steps)
      .count("real_steps", summary.totals.real_steps)
      .count("predicted_steps", summary.totals.predicted_steps)
      .count("trials", summary.totals.trials)
      .count("accepted", summary.totals.accepted)
      .count("rollbacks", summary.totals.rollbacks)
      .count("skipped", summary.totals.skipped)
      .count("out_of_memory", summary.totals.out_of_memory)
      .number("loss", summary.loss)
      .number("validation_loss", summary.validation_loss)
      .number("average_loss", summary.average_loss)
      .number("training_seconds", seconds_of(summary.training))
      .count("memory_bytes", summary.memory.value)
      .count("memory_peak_bytes", summary.memory_peak.value)
      .flag("stopped", summary.stopped);
  write(JsonLine().object("summary", line).str());
}

Status Record::finish() {
  if (folder_.empty()) return Unit{};
  metrics_.flush();
  if (!metrics_) return Error{Errc::kIo, folder_ + "/metrics.ndjson: cannot be written"};
  TRY_STATUS(write_plot("loss_by_step.svg", {.title = "loss by step",
                                             .x_label = "step",
                                             .y_label = "loss",
                                             .lines = {loss_by_step_, validation_by_step_}}));
  TRY_STATUS(write_plot("loss_by_time.svg", {.title = "loss by time",
                                             .x_label = "seconds of training",
                                             .y_label = "loss",
                                             .lines = {loss_by_time_, validation_by_time_}}));
  return write_plot("memory_by_step.svg", {.title = "memory by step",
                                           .x_label = "step",
                                           .y_label = "MiB",
                                           .lines = {memory_by_step_},
                                           .y_from_zero = true});
}

Status Record::write_plot(const std::string& name, const train::Plot& plot) const {
  const std::string path = folder_ + "/" + name;
  std::ofstream file(path, std::ios::trunc);
  file << train::to_svg(plot);
  file.close();
  if (!file) return Error{Errc::kIo, path + ": cannot be written"};
  return Unit{};
}

}  // namespace berth::trainer
