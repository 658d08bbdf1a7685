// SPDX-License-Identifier: Apache-2.0
// `berth version`: of this program and, where one runs, of the daemon.
#include <optional>
#include <string>

#include "base/json_writer.h"
#include "cli/output_mode.h"
#include "cli/verbs.h"
#include "wire/daemon.h"
#include "wire/hello.h"

namespace berth::cli {
namespace {

constexpr std::string_view kSchema = "berth/version/v1";

std::string as_json(const std::optional<wire::ServerHello>& daemon) {
  JsonWriter writer;
  writer.begin_object().key("schema").text(kSchema);
  writer.key("version").text(BERTH_VERSION);
  writer.key("api").text(to_text(wire::kApiVersion));
  writer.key("daemon");
  if (!daemon) return writer.null().end_object().take();
  writer.begin_object();
  writer.key("version").text(daemon->version).key("api").text(to_text(daemon->api));
  writer.key("pid").integer(daemon->pid).key("world").text(daemon->world);
  writer.key("simulated").boolean(daemon->simulated);
  return writer.end_object().end_object().take();
}

std::string as_text(const std::optional<wire::ServerHello>& daemon) {
  std::string text = "berth  " BERTH_VERSION ", API " + to_text(wire::kApiVersion) + "\n";
  if (!daemon) return text + "berthd does not run here\n";
  return text + "berthd " + daemon->version + ", API " + to_text(daemon->api) + ", pid " +
         std::to_string(daemon->pid) + (daemon->simulated ? ", simulated GPU\n" : "\n");
}

}  // namespace

int run_version(Invocation& invocation) {
  OutputMode output_mode(invocation);
  invocation.about = "No daemon is started for it.";
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  DaemonSession& session = output_mode.session();
  std::optional<wire::ServerHello> daemon;
  if (session.find() == DaemonSession::Found::kDaemon) {
    daemon = session.ask({.route = wire::Route::kVersion}, wire::decode_version);
  }
  return output_mode.show(as_text(daemon), as_json(daemon));
}

}  // namespace berth::cli
