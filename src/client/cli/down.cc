// SPDX-License-Identifier: Apache-2.0
// `berth down`: what runs of the plan of this project saves itself and ends.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/plan/project.h"
#include "cli/settings.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

struct DownOptions {
  std::string file{kPlanFile};
  std::vector<std::string> names;
  bool no_save = false;
  bool dry_run = false;
};

/// Those that wait or run, the youngest first: what comes after another one ends before it.
std::vector<LeaseView> live_ones(const PlanLeases& leases, const std::vector<std::string>& names) {
  std::vector<LeaseView> live;
  for (const auto& [name, lease] : leases) {
    const bool is_wanted = names.empty() || std::ranges::find(names, name) != names.end();
    if (is_wanted && lease.state != LeaseState::kEnded) live.push_back(lease);
  }
  std::ranges::sort(live, std::ranges::greater(), &LeaseView::id);
  return live;
}

}  // namespace

int run_down(Invocation& invocation) {
  DownOptions down;
  invocation.about =
      "Ends what runs or waits of the plan of this directory, the last that was started first. A "
      "session that can be asked to save itself (checkpoint) is asked first, and goes on where "
      "that fails: nothing is lost without a word.";
  invocation.examples = {{"berth down", "all sessions of the plan"},
                         {"berth down trainer", "one of them"}};
  declare_plan_file(invocation.options, down.file);
  invocation.options.add("--no-save", store(down.no_save), "end them without asking for a save");
  invocation.options.add("--dry-run", store(down.dry_run), "only say what would be done");
  invocation.options.operand("[SESSION...]", store(down.names),
                             "of the plan; all if none is named");
  if (const auto end = invocation.parse()) return *end;
  std::error_code error;  // The file may be gone: its directory is enough.
  const std::string path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(down.file, error), error);
  if (error) return invocation.fail(ExitCode::kNoInput, down.file + ": " + error.message());
  if (!settings_of(invocation)) return to_status(ExitCode::kConfig);
  DaemonSession session(invocation);
  if (!session.open()) return session.status();
  const auto leases = ask_plan_leases(session, plan_label(path));
  if (!leases) return session.status();
  for (const std::string& name : down.names) {
    if (!leases->contains(name)) {
      return invocation.usage_error("nothing was started of a session '" + name + "'");
    }
  }
  const std::vector<LeaseView> live = live_ones(*leases, down.names);
  if (live.empty()) print("nothing of it runs or waits\n");
  int status = to_status(ExitCode::kOk);
  for (const LeaseView& lease : live) {
    if (down.dry_run) {
      print(lease.request.name + ": would be ended as " + to_text(lease.id) + "\n");
      continue;
    }
    const int ended =
        end_session(invocation, session, lease, down.no_save ? Save::kNo : Save::kFirst);
    if (status == to_status(ExitCode::kOk)) status = ended;
  }
  return status;
}

}  // namespace berth::cli
