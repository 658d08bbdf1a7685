// SPDX-License-Identifier: Apache-2.0
// The terminal as a shell hands it to its jobs. Where we are a job of our own in its foreground,
// the command is given the terminal and gets what is typed from the kernel; see Note [Whose
// terminal]. Only for a program with one thread.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

namespace berth::cli {

// Note [Whose terminal]
// A command gets a process group of its own, and the terminal, if stdin is a terminal, we are in
// its foreground, we lead our group, and stdout is no pipe. Leading the group is what a job-control
// shell does with a job that is a single command. In all other cases the terminal belongs to more
// programs than the command: to the script or make that started us, which must see Ctrl-C to stop
// too, or to a pager at the other end of our pipe, which must be able to read keys. There the
// command stays in our group, and the kernel sends what is typed to everybody, as it would without
// us in between.

class JobTerminal {
 public:
  /// Absent: the command stays in our group.
  static std::optional<JobTerminal> find();

  /// Makes the group the foreground of the terminal, with the modes that it last had.
  void give_to(pid_t group);
  /// Makes us the foreground, if the group still is; and sets the modes that we found.
  void take_from(pid_t group);
  /// The same, but leaves the modes as a command that ended well wants them.
  void take_from_as_it_is(pid_t group);

  bool we_are_foreground() const;

 private:
  explicit JobTerminal(const termios& modes) : our_modes_(modes) {}

  termios our_modes_;
  std::optional<termios> its_modes_;  // When it was last stopped.
};

}  // namespace berth::cli
