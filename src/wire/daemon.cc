// SPDX-License-Identifier: Apache-2.0
#include "wire/daemon.h"

#include "base/checked.h"
#include "base/json_writer.h"
#include "wire/fields.h"
#include "wire/json_reader.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

constexpr JsonDocument::Form kDaemonAnswer = {
    .what = "the daemon's answer", .manner = Manner::kLenient, .size_max = limits::kBodyMax};

void write_probe(JsonWriter& writer, const DaemonView::Probe& probe) {
  writer.key("probe").begin_object();
  writer.key("state").text(probe.state);
  writer.key("sample_age_ms").milliseconds(probe.sample_age);
  writer.key("restarts").number(probe.restarts);
  writer.key("driver_version").text_or_null(probe.driver_version);
  writer.key("trouble").text_or_null(probe.trouble);
  writer.end_object();
}

void write_counts(JsonWriter& writer, const DaemonView::Counts& counts) {
  writer.key("counts").begin_object();
  writer.key("waiting").number(counts.waiting);
  writer.key("held").number(counts.held);
  writer.key("releasing").number(counts.releasing);
  writer.key("connections").number(counts.connections);
  writer.key("event_streams").number(counts.event_streams);
  writer.end_object();
}

void write_journal(JsonWriter& writer, const DaemonView::Journal& journal) {
  writer.key("journal").begin_object();
  writer.key("path").text(journal.path);
  writer.key("sequence").number(journal.sequence);
  writer.key("records").number(journal.records);
  writer.key("safe_mode").boolean(journal.safe_mode);
  writer.key("trouble").text_or_null(journal.trouble);
  writer.end_object();
}

void read_probe(ObjectReader& reader, DaemonView::Probe& probe) {
  reader.text("state", probe.state);
  reader.milliseconds("sample_age_ms", probe.sample_age);
  probe.restarts = reader.number("restarts", kAny).value_or(0);
  reader.text("driver_version", probe.driver_version);
  reader.text("trouble", probe.trouble);
}

void read_counts(ObjectReader& reader, DaemonView::Counts& counts) {
  counts.waiting = reader.number("waiting", kAny).value_or(0);
  counts.held = reader.number("held", kAny).value_or(0);
  counts.releasing = reader.number("releasing", kAny).value_or(0);
  counts.connections = reader.number("connections", kAny).value_or(0);
  counts.event_streams = reader.number("event_streams", kAny).value_or(0);
}

void read_journal(ObjectReader& reader, DaemonView::Journal& journal) {
  reader.text("path", journal.path);
  journal.sequence = reader.number("sequence", kAny).value_or(0);
  journal.records = reader.number("records", kAny).value_or(0);
  reader.boolean("safe_mode", journal.safe_mode);
  reader.text("trouble", journal.trouble);
}

}  // namespace

std::string encode_version(const ServerHello& hello) {
  JsonWriter writer;
  writer.begin_object().key("version").text(hello.version).key("api").text(to_text(hello.api));
  writer.key("world").text(hello.world).key("simulated").boolean(hello.simulated);
  writer.key("pid").integer(hello.pid).end_object();
  return writer.take();
}

Result<ServerHello> decode_version(std::string_view text) {
  JsonDocument document(text, kDaemonAnswer);
  ObjectReader reader = document.root();
  ServerHello hello;
  std::string api;
  reader.text("version", hello.version);
  reader.text("api", api);
  reader.text("world", hello.world);
  reader.boolean("simulated", hello.simulated);
  reader.integer("pid", hello.pid);
  const std::optional<ApiVersion> version = parse_api_version(api);
  if (!version) reader.refuse("api", "must be MAJOR.MINOR");
  TRY_STATUS(document.status());
  hello.api = checked(version);
  return hello;
}

std::string encode_daemon(const DaemonView& daemon) {
  JsonWriter writer;
  writer.begin_object().key("schema").text("berth/daemon/v1");
  writer.key("pid").integer(daemon.pid);
  writer.key("version").text(daemon.version);
  writer.key("api").text(to_text(kApiVersion));
  writer.key("started").time(daemon.started);
  writer.key("socket").text(daemon.socket);
  writer.key("state_dir").text(daemon.state_dir);
  writer.key("mode").text(to_text(daemon.mode));
  writer.key("world").text(daemon.world);
  writer.key("simulated").boolean(daemon.simulated);
  writer.key("trouble").text_or_null(daemon.trouble);
  write_probe(writer, daemon.probe);
  write_counts(writer, daemon.counts);
  write_journal(writer, daemon.journal);
  writer.end_object();
  return writer.take();
}

Result<DaemonView> decode_daemon(std::string_view text) {
  JsonDocument document(text, kDaemonAnswer);
  ObjectReader reader = document.root();
  DaemonView daemon;
  reader.require("pid");
  reader.integer("pid", daemon.pid);
  reader.text("version", daemon.version);
  reader.time("started", daemon.started);
  reader.text("socket", daemon.socket);
  reader.text("state_dir", daemon.state_dir);
  reader.word("mode", daemon.mode);
  reader.text("world", daemon.world);
  reader.boolean("simulated", daemon.simulated);
  reader.text("trouble", daemon.trouble);
  if (auto probe = reader.object("probe")) read_probe(*probe, daemon.probe);
  if (auto counts = reader.object("counts")) read_counts(*counts, daemon.counts);
  if (auto journal = reader.object("journal")) read_journal(*journal, daemon.journal);
  TRY_STATUS(document.status());
  return daemon;
}

}  // namespace berth::wire
