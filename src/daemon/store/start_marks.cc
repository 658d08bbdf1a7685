// SPDX-License-Identifier: Apache-2.0
#include "store/start_marks.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "os/files.h"

namespace berth::store {
namespace {

constexpr std::size_t kFileMax = 65'536;

constexpr std::array<const char*, 3> kOutcomes = {"unanswered", "answered", "closed"};

// "BOOT INSTANT WALL PID RELEASE OUTCOME"
std::optional<StartMark> parse(const std::string& line) {
  std::istringstream words(line);
  StartMark mark;
  std::string outcome;
  words >> mark.boot_id >> mark.at.ns >> mark.wall.value >> mark.pid >> mark.release >> outcome;
  if (words.fail()) return std::nullopt;
  const auto known = std::ranges::find(kOutcomes, outcome);
  if (known == kOutcomes.end()) return std::nullopt;
  mark.outcome = static_cast<Outcome>(known - kOutcomes.begin());
  return mark;
}

std::string line_of(const StartMark& mark) {
  return mark.boot_id + ' ' + std::to_string(mark.at.ns) + ' ' + std::to_string(mark.wall.value) +
         ' ' + std::to_string(mark.pid) + ' ' + mark.release + ' ' +
         kOutcomes[static_cast<std::size_t>(mark.outcome)] + '\n';
}

}  // namespace

StartMarks::StartMarks(std::string path) : path_(std::move(path)) {
  const Result<std::string> text = os::read_file(path_, kFileMax);
  if (!text.ok()) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (std::optional<StartMark> mark = parse(line)) marks_.push_back(*std::move(mark));
  }
}

std::optional<StartMark> StartMarks::last() const {
  if (marks_.empty()) return std::nullopt;
  return marks_.back();
}

bool StartMarks::journal_kills(const StartMark& now) const {
  std::size_t deaths = 0;
  for (auto mark = marks_.rbegin(); mark != marks_.rend(); ++mark) {
    if (mark->outcome != Outcome::kUnanswered || mark->boot_id != now.boot_id ||
        now.at - mark->at > kWithin)
      break;
    ++deaths;
  }
  return deaths >= kDeathsMax;
}

Status StartMarks::add(const StartMark& mark) {
  if (marks_.size() >= kKept) marks_.erase(marks_.begin());
  marks_.push_back(mark);
  return write();
}

Status StartMarks::set_outcome(Outcome outcome) {
  if (marks_.empty() || marks_.back().outcome >= outcome) return Unit{};
  marks_.back().outcome = outcome;
  return write();
}

Status StartMarks::take_back() {
  if (!marks_.empty()) marks_.pop_back();
  return write();
}

Status StartMarks::write() const {
  std::string text;
  for (const StartMark& mark : marks_) text += line_of(mark);
  return os::write_file_atomically(path_, text, 0600, os::Sync::kNone);
}

}  // namespace berth::store
