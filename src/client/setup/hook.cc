// SPDX-License-Identifier: Apache-2.0
#include "setup/hook.h"

#include "base/json_writer.h"
#include "base/letters.h"
#include "setup/gpu_command.h"
#include "wire/json_reader.h"

namespace berth::setup {
namespace {

constexpr std::size_t kInputMax = 1 << 20;
constexpr std::size_t kSessionMax = 12;

constexpr std::string_view kAboutGpus =
    "The GPUs of this machine are shared through Berth. Run GPU programs with a lease: berth run "
    "-m 8G -- COMMAND, or in one that you keep: berth reserve 30m --while-used -m 8G -n work, "
    "berth run --lease work -- COMMAND, berth release work. berth status shows who holds what.";

}  // namespace

Result<HookInput> read_hook_input(std::string_view text) {
  wire::JsonDocument document(
      text,
      {.what = "what the hook is told", .manner = wire::Manner::kLenient, .size_max = kInputMax});
  wire::ObjectReader root = document.root();
  HookInput input;
  root.text("session_id", input.session);
  root.text("tool_name", input.tool);
  if (auto tool_input = root.object("tool_input")) tool_input->text("command", input.command);
  TRY_STATUS(document.status());
  return input;
}

std::string session_name(std::string_view session) {
  std::string name = "claude-";
  for (const char c : session.substr(0, kSessionMax)) {
    if (is_letter_or_digit(c) || c == '-' || c == '_') name += c;
  }
  return name;
}

std::string session_variables(const std::string& name) {
  return "export BERTH_SESSION=" + name + "\n";
}

std::string session_start_answer() {
  JsonWriter out;
  out.begin_object().key("hookSpecificOutput").begin_object();
  out.key("hookEventName").text("SessionStart").key("additionalContext").text(kAboutGpus);
  out.end_object().end_object();
  return out.take();
}

std::string pre_tool_use_answer(const HookInput& input, std::optional<LeaseId> lease) {
  if (input.tool != "Bash") return {};
  const std::string prefix =
      lease ? "berth run --lease " + to_text(*lease) + " --" : std::string("berth run -m auto --");
  const auto line = with_lease(input.command, default_gpu_programs(), prefix);
  if (!line) return {};
  JsonWriter out;
  out.begin_object().key("hookSpecificOutput").begin_object();
  out.key("hookEventName").text("PreToolUse").key("permissionDecision").text("deny");
  out.key("permissionDecisionReason")
      .text("GPUs here are shared, and this may use one without a lease. Run instead: " + *line +
            (lease ? "" : "\n(-m SIZE where you know how much GPU memory it needs)"));
  out.end_object().end_object();
  return out.take();
}

}  // namespace berth::setup
