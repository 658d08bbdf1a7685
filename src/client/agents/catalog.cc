// SPDX-License-Identifier: Apache-2.0
#include "agents/catalog.h"

#include <string>
#include <utility>
#include <vector>

#include "agents/answers.h"
#include "agents/facts.h"
#include "agents/resources.h"
#include "agents/tool_arguments.h"
#include "base/check.h"
#include "wire/schema.h"

namespace berth::agents {
namespace {

// All of them work on this machine alone.
constexpr mcp::Hints kLooks = {
    .read_only = true, .destructive = false, .idempotent = true, .open_world = false};
constexpr mcp::Hints kAsks = {
    .read_only = false, .destructive = false, .idempotent = false, .open_world = false};
constexpr mcp::Hints kRepeats = {
    .read_only = false, .destructive = false, .idempotent = true, .open_world = false};
constexpr mcp::Hints kChanges = {
    .read_only = false, .destructive = true, .idempotent = false, .open_world = false};

template <HasFields Arguments, HasFields Answer>
mcp::Tool tool(std::string_view name, std::string_view title, std::string_view description,
               mcp::Hints hints) {
  return {.name = std::string(name),
          .title = std::string(title),
          .description = std::string(description),
          .hints = hints,
          .input_schema = wire::schema_of<side::kBody, Arguments>(wire::SchemaFor::kTool),
          .output_schema = wire::schema_of<side::kAnswer, Answer>(wire::SchemaFor::kTool)};
}

// What it starts may do anything.
constexpr mcp::Hints kStarts = {
    .read_only = false, .destructive = true, .idempotent = false, .open_world = true};

mcp::Tool run_tool(Running running) {
  if (running == Running::kLineOnly) {
    return tool<RunArguments, RunAnswer>(
        "gpu_run", "How to run a command",
        "The exact line that runs a command with GPU memory, for your own shell. Starts nothing.",
        kLooks);
  }
  return tool<RunArguments, RunAnswer>(
      "gpu_run", "Run a command as a job",
      "Starts a command with GPU memory when it is its turn, outside of your sandbox, and returns "
      "its job at once. With a lease: the line for your own shell.",
      kStarts);
}

std::vector<mcp::Tool> tools(Running running) {
  return {
      tool<StatusArguments, StatusFacts>("gpu_status", "GPUs and leases",
                                         "GPUs, what can be granted, who holds what.", kLooks),
      tool<RoomArguments, FitFacts>(
          "gpu_check_fit", "Would it fit",
          "Whether so much memory would be granted now; if not, who is in the way and until when.",
          kLooks),
      tool<AcquireArguments, AcquireAnswer>(
          "gpu_acquire", "Acquire GPU memory",
          "Asks for GPU memory and waits a while for its turn. Granted: run commands by run_with, "
          "from any shell. Queued: call again with the ticket.",
          kAsks),
      tool<RenewArguments, ControlAnswer>(
          "gpu_renew", "Renew, resize, report progress",
          "Keeps a lease longer, changes its memory, or tells how far the work is.", kRepeats),
      tool<ReleaseArguments, ControlAnswer>(
          "gpu_release", "Release", "Gives a lease back. Fine if it was given back already.",
          kRepeats),
      run_tool(running),
      tool<JobArguments, JobAnswer>("gpu_job", "A lease or job of yours",
                                    "How it stands, its exit status, the last lines of its log.",
                                    kLooks),
      tool<ControlArguments, ControlAnswer>(
          "gpu_control", "Pause, resume, checkpoint, cancel, move",
          "For leases of yours. Those of your other sessions only if your user agrees.", kChanges),
      tool<MessageArguments, MessageReply>(
          "gpu_message", "Ask the holder of a lease, or answer as one",
          "Leaves a note to whoever holds a lease, such as what you need and for how long; or "
          "answers one that was left at a lease of yours.",
          kAsks),
  };
}

}  // namespace

mcp::Catalog catalog(Running running) {
  mcp::Catalog all{.name = "berth",
                   .title = "Berth: shared GPUs",
                   .version = BERTH_VERSION,
                   .instructions = std::string(kInstructions),
                   .tools = tools(running),
                   .resources = resources(),
                   .templates = resource_templates(),
                   .prompts = prompts(),
                   .caching = {.ttl = hours(1), .scope = mcp::CacheScope::kPublic}};
  CHECK(mcp::is_sound(all));
  return all;
}

}  // namespace berth::agents
