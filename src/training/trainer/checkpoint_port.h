// SPDX-License-Identifier: Apache-2.0
// Lets others ask for a checkpoint: POST /checkpoint over HTTP, on an address of this machine's
// own. It is looked at between steps by the thread that trains, so that the answer comes after the
// save that it is about. No thread of its own; it waits for a client that is slow to ask for a
// second at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::trainer {

class CheckpointPort {
 public:
  /// "127.0.0.1:8080"; port 0 is any that is free. kInvalid for an address that others can reach.
  static Result<CheckpointPort> open(std::string_view address);

  std::uint16_t port() const { return port_; }

  /// The side that asks and waits for an answer.
  class Caller {
   public:
    /// 200, or 503 with the reason.
    void answer(const Result<std::string>& saved);

   private:
    friend class CheckpointPort;
    explicit Caller(os::UniqueFd connection) : connection_(std::move(connection)) {}
    os::UniqueFd connection_;
  };
  /// Does not wait. What is no POST /checkpoint is answered here.
  std::optional<Caller> poll();

 private:
  CheckpointPort(os::UniqueFd listening, std::uint16_t port)
      : listening_(std::move(listening)), port_(port) {}

  os::UniqueFd listening_;
  std::uint16_t port_;
};

}  // namespace berth::trainer
