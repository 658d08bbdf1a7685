// SPDX-License-Identifier: Apache-2.0
// Starts commands as jobs for agents, where a person has allowed it (`berth mcp --allow-run`): what
// is started runs outside of the agent's sandbox and of the questions of its own shell.
#pragma once

#include <string>
#include <vector>

#include "agents/tool_arguments.h"
#include "base/ids.h"
#include "base/result.h"

namespace berth::agents {

class Starter {
 public:
  /// `program`: of `berth`, which submits it as a person would.
  explicit Starter(std::string program) : program_(std::move(program)) {}

  /// Returns when it is in the queue, in a second usually. Its lease is of that session, and has
  /// the client's name. An error is what `berth submit` says.
  Result<LeaseId> submit(const RunArguments& arguments, std::string_view client,
                         const std::string& session) const;

 private:
  std::string program_;
};

/// Pure: what is started. Of `variables`, those that belong to the agent itself are kept from the
/// job: they may be its secrets.
std::vector<std::string> submit_words(const std::string& program, const RunArguments& arguments,
                                      std::string_view client,
                                      const std::vector<std::string>& variables);

}  // namespace berth::agents
