// SPDX-License-Identifier: Apache-2.0
// Resources that agents can read, and the prompt that tells a model how to share a GPU. Not shared
// between threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/daemon_link.h"
#include "agents/facts.h"
#include "jobs/job_folder.h"
#include "mcp/catalog.h"
#include "mcp/outcome.h"

namespace berth::agents {

std::vector<mcp::Resource> resources();
std::vector<mcp::ResourceTemplate> resource_templates();
std::vector<mcp::Prompt> prompts();

/// What a resource is read with.
struct Sources {
  DaemonLink& daemon;
  const Reader& reader;
  const std::optional<jobs::JobFolder>& jobs;
  bool starts_commands = false;
};
/// NotFound: there is no such lease, or it is no job of this user.
mcp::Outcome read_resource(const std::string& uri, const Sources& sources);

mcp::PromptResult share_gpu();

}  // namespace berth::agents
