// SPDX-License-Identifier: Apache-2.0
// One coordinator a device: the daemon holds a machine-wide name for each, an abstract Unix socket
// that tells in one line whose it is. Who finds a name taken does not grant that device, says who
// has it, and tries again later; the machine's own daemon grants all the same and says so. Names
// belong to a network namespace: a container cannot see those of its host. The event loop's thread.
//
// Note [One coordinator a device]: the name is "berth/1/device/" and the UUID. The kernel frees it
// with the process that holds it, in whatever way that ends, so that no claim is ever stale.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "model/device.h"
#include "os/unique_fd.h"

namespace berth::server {

class DeviceClaims {
 public:
  static constexpr Duration kRetryEvery = seconds(5);

  enum class Rank : std::uint8_t {
    kUser,     // Steps back before the holder of the name.
    kMachine,  // The machine's own daemon: grants beside an ordinary user's, and warns.
  };
  /// `line` is told to those who ask; `say` takes news for the log.
  DeviceClaims(boost::asio::io_context& io, Rank rank, std::string line,
               std::function<void(const std::string&)> say);
  ~DeviceClaims();

  /// Claims the devices of this sample. One that another daemon has is marked as lost to us,
  /// with the name of that as its trouble, so that nothing is granted on it.
  void apply(Instant now, Sample& sample);

 private:
  struct Claim;
  struct Other {
    UserId user;
    std::string name;
    std::int32_t pid = 0;
    std::string line;
  };

  Claim& claim_of(DeviceId device);
  void try_claim(Instant now, DeviceId device, Claim& claim);
  void claimed(DeviceId device, Claim& claim, os::UniqueFd socket);
  bool is_ours_to_grant(const Claim& claim) const;
  static std::string trouble_of(const Claim& claim);
  void answer_soon(Claim& claim);
  bool outranks(const Other& other) const;

  boost::asio::io_context& io_;
  Rank rank_;
  std::string line_;
  std::function<void(const std::string&)> say_;
  std::map<DeviceId, std::unique_ptr<Claim>> claims_;
};

}  // namespace berth::server
