// SPDX-License-Identifier: Apache-2.0
// A button that was pressed: `berth` beside this program is run with that verb and lease, and what
// it says is kept for the person who pressed it. Not shared between threads.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "model/alert.h"
#include "os/unique_fd.h"

namespace berth::notify {

class ActionProcess {
 public:
  static Result<ActionProcess> start(const Alert::Action& action);

  /// Readable when there is something to read(), and at its end.
  int descriptor() const { return output_.get(); }
  /// False: it has ended, and was reaped.
  bool read();

  const std::string& what() const { return what_; }  // "berth pause 12"
  const std::string& said() const { return said_; }  // The first of its lines.
  bool succeeded() const { return status_ == 0; }

 private:
  ActionProcess(pid_t pid, os::UniqueFd output, std::string what)
      : pid_(pid), output_(std::move(output)), what_(std::move(what)) {}

  pid_t pid_;
  os::UniqueFd output_;
  std::string what_;
  std::string said_;
  int status_ = -1;
};

}  // namespace berth::notify
