// SPDX-License-Identifier: Apache-2.0
// Demands on the lease of a simulated session, again and again: by its user, by others, and by its
// program, which answers what it is asked.
#pragma once

#include "sim/client.h"

namespace berth::sim {

class Demands {
 public:
  explicit Demands(const Client& client) : client_(client) {}

  /// From when it waits on.
  void begin_waiting() const;
  /// From when it has its lease on: a reservation, or a program that begins to run.
  void begin_holding() const;
  void begin_running() const;

 private:
  using Phase = Client::Phase;

  void hold() const;
  void let_go() const;
  void edit() const;
  void send_message() const;
  void answer_message() const;
  void release(bool cancel) const;
  void ask_to_save() const;
  void save() const;
  void suspend() const;
  void watch_return() const;
  void return_in_the_end() const;
  void move() const;
  void freeze() const;
  void resume_frozen() const;

  const Client& client_;
};

}  // namespace berth::sim
