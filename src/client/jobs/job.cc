// SPDX-License-Identifier: Apache-2.0
#include "jobs/job.h"

#include "wire/field_reader.h"
#include "wire/field_writer.h"

namespace berth::jobs {
namespace {

constexpr std::size_t kFileMax = std::size_t{64} << 10U;

// A field of a newer version is passed over.
wire::JsonDocument::Form form_of(std::string_view what) {
  return {.what = what, .manner = wire::Manner::kLenient, .size_max = kFileMax};
}

enum class Phase : std::uint8_t { kStart, kQueue, kRun, kDone };
constexpr auto words_of(Phase) {
  using enum Phase;
  return make_words<Phase>({{kStart, "start"}, {kQueue, "queue"}, {kRun, "run"}, {kDone, "done"}});
}

struct Line {
  Phase phase = Phase::kQueue;
  std::optional<std::int32_t> pid;
  std::optional<std::int32_t> code;
  std::optional<std::int32_t> signal;
  std::optional<Bytes> log_at;
};
constexpr auto fields_of(Is<Line> auto*) {
  return fields({}, field("phase", &Line::phase).required(side::kAnswer), field("pid", &Line::pid),
                field("code", &Line::code), field("signal", &Line::signal),
                field("log_at", &Line::log_at));
}

}  // namespace

std::string encode_job(const Job& job) {
  return wire::answer_text(job) + "\n";
}

Result<Job> decode_job(std::string_view text) {
  TRY(job, wire::read_answer<Job>(text, form_of("the job")));
  if (job.version > kJobVersion) {
    return Error{Errc::kVersion, "job " + to_text(job.id) + " is of a newer version of Berth"};
  }
  const bool makes_sense = job.id.value != 0 && job.directory.starts_with('/') &&
                           !job.directory.contains('\0') && job.umask <= 0777;
  if (!makes_sense) return Error{Errc::kCorrupt, "the job has no number or no directory"};
  return job;
}

std::string encode_result(const JobResult& result) {
  return wire::answer_text(result) + "\n";
}

Result<JobResult> decode_result(std::string_view text) {
  return wire::read_answer<JobResult>(text, form_of("the result"));
}

Attempt read_attempt(std::string_view lines) {
  Attempt attempt;
  while (true) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) return attempt;
    const Result<Line> line = wire::read_answer<Line>(lines.substr(0, end), form_of("the line"));
    lines.remove_prefix(end + 1);
    if (!line.ok()) continue;
    switch (line->phase) {
      case Phase::kStart:
        if (line->pid) attempt.starter = line->pid;
        if (line->log_at) attempt.log_at = line->log_at;
        break;
      case Phase::kQueue:
        break;
      case Phase::kRun:
        attempt.ran = true;
        break;
      case Phase::kDone:
        attempt.over = true;
        attempt.code = line->code;
        attempt.signal = line->signal;
        break;
    }
  }
}

std::string join_strings(const std::vector<std::string>& strings) {
  std::string text;
  for (const std::string& string : strings) text.append(string).push_back('\0');
  return text;
}

std::vector<std::string> split_strings(std::string_view text) {
  std::vector<std::string> strings;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    if (end == std::string_view::npos) break;
    strings.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return strings;
}

}  // namespace berth::jobs
