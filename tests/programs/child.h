// SPDX-License-Identifier: Apache-2.0
// Another caller, as a child that is given its calls one by one. It inherits descriptors.
#pragma once

#include <string>

class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// False: it cannot be started.
  bool start(const std::string& route);
  /// At once, and it is waited for. False: there is none.
  bool kill();
  /// Its answer; empty once it is gone.
  std::string ask(const std::string& call);

 private:
  int to_ = -1;
  int from_ = -1;
  int pid_ = -1;
};
