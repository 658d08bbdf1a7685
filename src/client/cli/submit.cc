// SPDX-License-Identifier: Apache-2.0
// `berth submit`: a command under a lease that outlives the terminal. What it does is in run/.
#include <utility>

#include "cli/run/run_options.h"
#include "cli/verbs.h"

namespace berth::cli {

int run_submit(Invocation& invocation) {
  RunOptions run{.detach = true};
  invocation.about =
      "Puts a command into the queue and returns at once with its number. The command is started "
      "when it is its turn, also after you have logged out; berth logs shows what it prints. It "
      "has "
      "the options of berth run, with which it is started: in this directory, with the variables "
      "of "
      "now, and with no terminal.";
  invocation.examples = {
      {"berth submit -m 8G -- python train.py", "8 GiB of any GPU, when it is its turn"},
      {"berth submit -m 8G --after-ok 7 -- ./evaluate.sh", "once lease 7 has ended well"}};
  declare_run(invocation, run);
  if (const auto end = invocation.parse()) return *end;
  return run_with(invocation, std::move(run));
}

}  // namespace berth::cli
