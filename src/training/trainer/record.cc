// SPDX-License-Identifier: Apache-2.0
#include "trainer/record.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/json_writer.h"

namespace berth::trainer {
namespace {

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
  JsonWriter line;
  line.begin_object().key("settings").begin_object();
  for (const train::KeyAndValue& each : train::values_of(settings)) {
    line.key(each.key).text(each.value);
  }
  write(line.end_object().end_object().take());
}

void Record::step(const StepReport& report, Duration training, Bytes memory) {
  JsonWriter line;
  line.begin_object();
  line.key("step").number(report.step);
  line.key("phase").text(to_text(report.phase));
  line.key("predicted").boolean(report.predicted);
  line.key("loss").real(report.loss);
  line.key("rate").real(report.rate);
  line.key("gradient_norm").real(report.gradient_norm);
  line.key("prediction_error").real(report.prediction_error);
  line.key("confidence").real(report.confidence);
  line.key("level").text(to_text(report.verdict.level));
  line.key("pieces").number(report.pieces);
  line.key("skipped").boolean(report.skipped);
  line.key("rolled_back").boolean(report.rolled_back);
  line.key("seconds").real(seconds_of(report.times.total));
  line.key("forward_seconds").real(seconds_of(report.times.forward));
  line.key("backward_seconds").real(seconds_of(report.times.backward));
  line.key("update_seconds").real(seconds_of(report.times.update));
  line.key("trial_seconds").real(seconds_of(report.times.trial));
  line.key("training_seconds").real(seconds_of(training));
  line.key("memory_bytes").number(memory.value);
  write(line.end_object().take());
  const auto step = static_cast<double>(report.step);
  if (!report.predicted) {
    loss_by_step_.points.push_back({step, report.loss});
    loss_by_time_.points.push_back({seconds_of(training), report.loss});
  }
  memory_by_step_.points.push_back({step, static_cast<double>(memory.value) / kMib});
}

void Record::validation(std::uint64_t step, const Summary& so_far) {
  const double seconds = seconds_of(so_far.training);
  JsonWriter line;
  line.begin_object();
  line.key("step").number(step);
  line.key("training_seconds").real(seconds);
  line.key("validation_loss").real(so_far.validation_loss);
  line.key("average_loss").real(so_far.average_loss);
  write(line.end_object().take());
  validation_by_step_.points.push_back({static_cast<double>(step), so_far.validation_loss});
  validation_by_time_.points.push_back({seconds, so_far.validation_loss});
}

void Record::end(const Summary& summary) {
  JsonWriter line;
  line.begin_object().key("summary").begin_object();
  line.key("steps").number(summary.steps);
  line.key("real_steps").number(summary.totals.real_steps);
  line.key("predicted_steps").number(summary.totals.predicted_steps);
  line.key("trials").number(summary.totals.trials);
  line.key("accepted").number(summary.totals.accepted);
  line.key("rollbacks").number(summary.totals.rollbacks);
  line.key("skipped").number(summary.totals.skipped);
  line.key("out_of_memory").number(summary.totals.out_of_memory);
  line.key("loss").real(summary.loss);
  line.key("validation_loss").real(summary.validation_loss);
  line.key("average_loss").real(summary.average_loss);
  line.key("training_seconds").real(seconds_of(summary.training));
  line.key("memory_bytes").number(summary.memory.value);
  line.key("memory_peak_bytes").number(summary.memory_peak.value);
  line.key("stopped").boolean(summary.stopped);
  write(line.end_object().end_object().take());
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
