// SPDX-License-Identifier: Apache-2.0
#include "replay/past.h"

#include <algorithm>

namespace berth::replay {
namespace {

// Of a share in turns the time on the device is not known: it counts as a budget.
Request request_of(const history::Session& session) {
  Request request;
  request.session = session.session;
  request.device_count = std::max(session.devices, 1U);
  if (session.share == Share::kExclusive) {
    request.share = Share::kExclusive;
  } else {
    request.vram = {std::max<std::uint64_t>(session.granted.value / request.device_count, 1)};
  }
  return request;
}

}  // namespace

std::vector<Task> tasks_of(const std::vector<history::Session>& sessions, UnixMs now) {
  std::vector<Task> tasks;
  if (sessions.empty()) return tasks;
  const UnixMs first = std::ranges::min(sessions, {}, &history::Session::queued).queued;
  for (const history::Session& session : sessions) {
    const std::int64_t ran = session.ended.value_or(now).value - session.started.value;
    tasks.push_back({.arrives = {milliseconds(session.queued.value - first.value).ns},
                     .runs = milliseconds(std::max<std::int64_t>(ran, 1)),
                     .request = request_of(session),
                     .user = session.user});
  }
  std::ranges::stable_sort(tasks, {}, &Task::arrives);
  return tasks;
}

}  // namespace berth::replay
