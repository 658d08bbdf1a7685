// SPDX-License-Identifier: Apache-2.0
// Messages that a client reads: answers, which read the same when they are written and read again,
// and a stream of events however it is split. The first byte of the input says where.
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "fuzz.h"
#include "wire/alerts.h"
#include "wire/answers.h"
#include "wire/audit.h"
#include "wire/daemon.h"
#include "wire/error.h"
#include "wire/history.h"
#include "wire/lease.h"
#include "wire/sse.h"

namespace {

namespace wire = berth::wire;
using berth::fuzz::check_trip;

void check_stream(std::string_view bytes, std::size_t split) {
  wire::SseReader whole;
  const auto events = whole.feed(bytes);
  if (!events.ok()) return;
  split = split > bytes.size() ? bytes.size() : split;
  wire::SseReader parts;
  auto first = parts.feed(bytes.substr(0, split));
  const auto second = parts.feed(bytes.substr(split));
  CHECK(first.ok() && second.ok());
  first->insert(first->end(), second->begin(), second->end());
  CHECK(*first == *events);
}

wire::Viewer viewer(const wire::UserNames& names) {
  return {.user = berth::UserId{65'534}, .names = names};
}

void check_leases(std::string_view text) {
  check_trip(text, wire::decode_lease, [](const wire::LeaseAnswer& answer) {
    wire::UserNames names;
    if (!answer.user.empty()) names.emplace(answer.view.user, answer.user);
    return wire::encode_lease(answer.view, viewer(names), {.env = &answer.env});
  });
  check_trip(text, wire::decode_leases, [](const wire::LeaseList& list) {
    return wire::encode_leases(list, viewer(list.names));
  });
}

void check_views(std::string_view text) {
  check_trip(text, wire::decode_status, [](const wire::NamedStatus& named) {
    return wire::encode_status(named.status, viewer(named.names));
  });
  check_trip(text, wire::decode_devices, [](const wire::NamedDevices& named) {
    return wire::encode_devices(named.list, named.names);
  });
  check_trip(text, wire::decode_why,
             [](const wire::NamedWhy& named) { return wire::encode_why(named.why, named.names); });
  check_trip(text, wire::decode_fit,
             [](const berth::FitView& fit) { return wire::encode_fit(fit, {}); });
  check_trip(text, wire::decode_version, wire::encode_version);
  check_trip(text, wire::decode_daemon, wire::encode_daemon);
}

void check_alerts(std::string_view text) {
  check_trip(text, wire::decode_alert, wire::encode_alert);
  check_trip(text, wire::decode_alerts, wire::encode_alerts);
  check_trip(text, wire::decode_alert_test, wire::encode_alert_test);
}

void check_past(std::string_view text) {
  check_trip(text, wire::decode_past, wire::encode_past);
  check_trip(text, wire::decode_sessions, wire::encode_sessions);
  check_trip(text, wire::decode_audit, wire::encode_audit);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = berth::fuzz::text_of(data + 1, size - 1);
  check_stream(text, *data);
  check_leases(text);
  check_views(text);
  check_alerts(text);
  check_past(text);
  CHECK(!wire::decode_error(text).code.empty());
  return 0;
}
