// SPDX-License-Identifier: Apache-2.0
#include "cli/render/daemon.h"

#include "base/quantity.h"
#include "cli/render/facts.h"
#include "cli/render/phrases.h"

namespace berth::cli {
namespace {

std::string probe_text(const wire::DaemonView::Probe& probe, const Scene& scene) {
  std::string text = harmless(probe.state, scene.letters);
  if (probe.sample_age) text += ", last answer " + to_text(*probe.sample_age) + " ago";
  if (!probe.driver_version.empty()) {
    text += ", version " + harmless(probe.driver_version, scene.letters);
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

std::string journal_text(const wire::DaemonView::Journal& journal, const Scene& scene) {
  std::string text = harmless(journal.path, scene.letters) + ", " +
                     counted(journal.records, "record") + " since the last snapshot";
  if (journal.safe_mode) text += "; SAFE MODE: it was moved aside and nothing is granted";
  return text;
}

}  // namespace

std::string daemon_text(const wire::DaemonView& daemon, const Scene& scene) {
  const Letters letters = scene.letters;
  Facts facts;
  facts.add("pid", std::to_string(daemon.pid));
  facts.add("running", "for " + to_text(between(daemon.started, scene.now)) + ", since " +
                           to_text(daemon.started));
  facts.add("mode", std::string(to_text(daemon.mode)));
  facts.add("GPUs", daemon.simulated ? "simulated (machine " + harmless(daemon.world, letters) + ")"
                                     : "real");
  facts.add("socket", harmless(daemon.socket, letters));
  facts.add("state", harmless(daemon.state_dir, letters));
  facts.add("driver", probe_text(daemon.probe, scene));
  facts.add("leases", counts_text(daemon.counts));
  facts.add("journal", journal_text(daemon.journal, scene));
  for (const std::string& trouble :
       {daemon.trouble, daemon.probe.trouble, daemon.journal.trouble}) {
    facts.add("trouble", harmless(trouble, letters));
  }
  return painted("berthd " + harmless(daemon.version, letters), Colour::kBold, letters) + "\n" +
         std::move(facts).text(letters);
}

}  // namespace berth::cli
