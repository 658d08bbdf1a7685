// SPDX-License-Identifier: Apache-2.0
// One client of `berth mcp` over two descriptors: lines in, lines out, until the first ends. For a
// program with one thread.
#pragma once

#include <string>

#include "agents/toolbox.h"
#include "base/result.h"
#include "mcp/connection.h"

namespace berth::agents {

class Server {
 public:
  Server(Toolbox::Ports ports, int in, int out);

  /// Until the client has gone. What waits for a turn is withdrawn then; what was granted stays
  /// until its time is over. kIo: the client cannot be written to.
  Status run();

 private:
  bool read();
  void take_lines();
  void perform(const mcp::Effects& effects);
  void tell_news();
  void write(const std::string& line);
  void wait() const;

  const mcp::Catalog catalog_;
  Toolbox toolbox_;
  mcp::Connection connection_;
  int in_;
  int out_;
  std::string buffer_;
  bool skips_ = false;  // A line that is too long, to its end.
  Status written_ = Unit{};
};

}  // namespace berth::agents
