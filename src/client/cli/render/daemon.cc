// SPDX-License-Identifier: Apache-2.0
#include "cli/render/daemon.h"

#include "base/quantity.h"
#include "cli/render/phrases.h"
#include "cli/render/table.h"

namespace berth::cli {
namespace {

std::string probe_text(const wire::DaemonView::Probe& probe, const RenderContext& context) {
  std::string text = escape_control(probe.state, context.charset);
  if (probe.sample_age) text += ", last answer " + to_text(*probe.sample_age) + " ago";
  if (!probe.driver_version.empty()) {
    text += ", version " + escape_control(probe.driver_version, context.charset);
  }
  if (probe.restarts > 0) text += ", " + counted(probe.restarts, "child") + " given up";
  return text;
}

std::string counts_text(const wire::DaemonView::Counts& counts) {
  return std::to_string(counts.held) + " held, " + std::to_string(counts.waiting) + " waiting, " +
         std::to_string(counts.releasing) + " releasing; " +
         counted(counts.connections, "connection") + ", " +
         counted(counts.event_streams, "stream") + " of events";
}

std::string journal_text(const wire::DaemonView::Journal& journal, const RenderContext& context) {
  std::string text = escape_control(journal.path, context.charset) + ", " +
                     counted(journal.records, "record") + " since the last snapshot";
  if (journal.safe_mode) text += "; SAFE MODE: it was moved aside and nothing is granted";
  return text;
}

}  // namespace

std::string daemon_text(const wire::DaemonView& daemon, const RenderContext& context) {
  const Charset charset = context.charset;
  Facts facts;
  facts.add("pid", std::to_string(daemon.pid));
  facts.add("running", "for " + to_text(between(daemon.started, context.now)) + ", since " +
                           to_text(daemon.started));
  facts.add("mode", std::string(to_text(daemon.mode)));
  facts.add("GPUs", daemon.simulated
                        ? "simulated (machine " + escape_control(daemon.world, charset) + ")"
                        : "real");
  facts.add("socket", escape_control(daemon.socket, charset));
  facts.add("port", escape_control(daemon.http_address, charset));
  facts.add("state", escape_control(daemon.state_dir, charset));
  facts.add("driver", probe_text(daemon.probe, context));
  facts.add("leases", counts_text(daemon.counts));
  facts.add("journal", journal_text(daemon.journal, context));
  for (const std::string& trouble :
       {daemon.trouble, daemon.probe.trouble, daemon.journal.trouble}) {
    facts.add("trouble", escape_control(trouble, charset));
  }
  return painted("berthd " + escape_control(daemon.version, charset), Colour::kBold, charset) +
         "\n" + std::move(facts).text(charset);
}

}  // namespace berth::cli
