// SPDX-License-Identifier: Apache-2.0
#include "wire/sse.h"

#include <utility>

#include "base/check.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += '\n';
}

}  // namespace

std::string encode_event(const SseEvent& event) {
  CHECK(event.event.find_first_of("\r\n") == std::string::npos);
  CHECK(event.id.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  std::string out;
  if (!event.event.empty()) append_field(out, "event", event.event);
  if (!event.id.empty()) append_field(out, "id", event.id);
  // A carriage return alone ends a line too; our data is JSON, which has neither.
  CHECK(event.data.find('\r') == std::string::npos);
  std::string_view data = event.data;
  while (true) {
    const std::size_t end = data.find('\n');
    append_field(out, "data", data.substr(0, end));
    if (end == std::string_view::npos) break;
    data.remove_prefix(end + 1);
  }
  out += '\n';
  return out;
}

Result<std::vector<SseEvent>> SseReader::feed(std::string_view bytes) {
  std::vector<SseEvent> events;
  for (const char c : bytes) {
    const bool second_of_pair = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_of_pair) continue;
    if (c == '\n' || c == '\r') {
      end_line(events);
      continue;
    }
    if (++size_ > limits::kEventMax) {
      return Error{Errc::kFull, "the daemon sent an event of more than " +
                                    std::to_string(limits::kEventMax) + " bytes"};
    }
    line_ += c;
  }
  return events;
}

void SseReader::end_line(std::vector<SseEvent>& events) {
  const std::string whole = std::exchange(line_, {});
  std::string_view line = whole;
  if (at_start_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  at_start_ = false;
  if (line.empty()) {
    if (has_data_) {
      if (event_.event.empty()) event_.event = "message";
      event_.data.pop_back();  // The line feed after the last line of data.
      events.push_back(event_);
    }
    event_ = SseEvent{.event = {}, .id = std::move(event_.id), .data = {}};
    has_data_ = false;
    size_ = 0;
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.event = value;
  } else if (field == "data") {
    event_.data += value;
    event_.data += '\n';
    has_data_ = true;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  }
}

}  // namespace berth::wire
