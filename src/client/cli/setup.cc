// SPDX-License-Identifier: Apache-2.0
// `berth setup`: tells a coding agent of Berth by its own settings, and takes that back.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/plan/trusted.h"
#include "cli/verbs.h"
#include "os/files.h"
#include "os/paths.h"
#include "os/programs.h"
#include "setup/clients.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using setup::Change;
using setup::Direction;

constexpr std::size_t kSettingsMax = 16 << 20;
constexpr std::string_view kBackup = ".before-berth";

/// One file, and what is to become of it.
struct Edit {
  std::string path;  // Where the file is: not that of a link to it.
  std::string about;
  std::optional<std::string> before;  // Absent: it is not there.
  std::string after;                  // Empty: it is to go.
};

// A link is followed to what it names, as people keep their settings elsewhere; but that has to be
// theirs.
Result<std::string> place_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path there = fs::canonical(path, error);
  if (error) return Error{Errc::kInvalid, path + " is a link to what is not there"};
  return there.string();
}

Result<std::optional<std::string>> read_settings(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::optional<std::string>();
  TRY(text, os::read_trusted_file(path, kSettingsMax));
  return std::optional(std::move(text));
}

Result<Edit> edit_of(const Change& change, Direction direction) {
  TRY(path, place_of(change.path));
  TRY(before, read_settings(path));
  Edit edit{.path = path, .about = change.about, .before = std::move(before), .after = {}};
  if (direction == Direction::kRemove && !edit.before) return edit;
  const std::string now = edit.before.value_or("");
  // As it was, if nothing else has been changed since.
  if (direction == Direction::kRemove) {
    TRY(backup, read_settings(path + std::string(kBackup)));
    const std::string was = backup.value_or("");
    const Result<std::string> again = change.apply(was, Direction::kAdd);
    if (again.ok() && *again == now) {
      edit.after = was;
      return edit;
    }
  }
  Result<std::string> after = change.apply(now, direction);
  if (!after.ok()) return Error{Errc::kInvalid, path + ": " + after.error().message};
  edit.after = *std::move(after);
  return edit;
}

Status perform(const Edit& edit) {
  const std::string folder = fs::path(edit.path).parent_path();
  const std::string backup = edit.path + std::string(kBackup);
  std::error_code error;
  if (edit.after.empty()) {
    fs::remove(edit.path, error);
    fs::remove(backup, error);
    return Unit{};
  }
  TRY_STATUS(os::make_directories(folder, 0755));
  unsigned mode = 0600;
  if (edit.before) {
    mode = static_cast<unsigned>(fs::status(edit.path, error).permissions()) & 0777U;
    if (!fs::exists(backup, error)) TRY_STATUS(os::write_new_file(backup, *edit.before, mode));
  }
  return os::write_file_atomically(edit.path, edit.after, mode, os::Sync::kNone);
}

void show(const Edit& edit) {
  print(edit.path + " (" + edit.about + ")\n" + difference(edit.before.value_or(""), edit.after));
}

// That it was asked for is not enough: an agent may have typed it. Absent: a person agreed.
std::optional<int> ask_about_running(Invocation& invocation) {
  if (::isatty(STDIN_FILENO) == 0) {
    return invocation.usage_error("--allow-run asks, and stdin is no terminal");
  }
  complain(
      "With --allow-run the agent can have commands started as jobs of yours, by gpu_run. They "
      "run\n"
      "outside of its sandbox, and its shell asks nobody about them; berth ps shows each of them.\n"
      "Allow that? [y/N] ");
  std::string answer;
  if (std::getline(std::cin, answer) && (answer == "y" || answer == "yes")) return std::nullopt;
  complain("berth: nothing was changed\n");
  return to_status(ExitCode::kFailed);
}

}  // namespace

int run_setup(Invocation& invocation) {
  setup::Agent agent = {};
  bool removes = false;
  bool dry_run = false;
  bool allow_run = false;
  invocation.about =
      "Tells a coding agent of Berth: adds berth mcp to its servers, and for Claude Code hooks "
      "that name its sessions, turn GPU commands without a lease into such with one, and give back "
      "what was left behind, and a page for the model. Comments and order of its settings stay, "
      "and a copy of each file is kept beside it as it was before. Nothing is changed twice.";
  invocation.examples = {{"berth setup claude --dry-run", "what would be changed"},
                         {"berth setup codex", "the server, in ~/.codex/config.toml"},
                         {"berth setup claude --remove", "take it back"}};
  invocation.options.operand("AGENT", store(agent), "which one", texts_of<setup::Agent>());
  invocation.options.add("--remove", store(removes), "take back what was added");
  invocation.options.add("--dry-run", store(dry_run), "only show what would be changed");
  invocation.options.add("--allow-run", store(allow_run),
                         "let the agent have commands started outside of its sandbox; asks first");
  if (const auto end = invocation.parse()) return *end;
  if (allow_run && !removes && !dry_run) {
    if (const auto end = ask_about_running(invocation)) return *end;
  }

  const os::Environment env = os::read_environment();
  const Result<std::string> program = os::sibling_program("berth");
  if (!program.ok()) return invocation.fail(program.error());
  const setup::Places places{
      .home = env.home,
      .config_home = env.xdg_config_home.empty() ? env.home + "/.config" : env.xdg_config_home,
      .program = *program,
      .allow_run = allow_run};
  // Two at once would each write what the other has not seen.
  std::optional<os::FileLock> lock;
  if (!dry_run) {
    const std::string folder = places.config_home + "/berth";
    const Status made = os::make_directories(folder);
    Result<os::FileLock> taken =
        made.ok() ? os::FileLock::wait(folder + "/setup.lock") : Result<os::FileLock>(made.error());
    if (!taken.ok()) return invocation.fail(taken.error());
    lock = *std::move(taken);
  }

  // All of them are read before the first is written: one that makes no sense changes nothing.
  std::vector<Edit> edits;
  const Direction direction = removes ? Direction::kRemove : Direction::kAdd;
  for (const Change& change : setup::changes_for(agent, places)) {
    Result<Edit> edit = edit_of(change, direction);
    if (!edit.ok()) return invocation.fail(edit.error());
    if (edit->before.value_or("") != edit->after) edits.push_back(*std::move(edit));
  }
  if (edits.empty()) complain("berth: nothing is to be changed\n");
  for (const Edit& edit : edits) {
    if (dry_run) {
      show(edit);
      continue;
    }
    if (const Status done = perform(edit); !done.ok()) return invocation.fail(done.error());
    complain("berth: " + edit.path + ": " + edit.about +
             (removes ? " was taken out\n" : " was added\n"));
  }
  return to_status(ExitCode::kOk);
}

}  // namespace berth::cli
