// SPDX-License-Identifier: Apache-2.0
// libtorch's processes that work together, for peers.cc alone: these headers are large.
#pragma once

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "train/peer_place.h"
#include "trainer/libtorch.h"

#pragma push_macro("CHECK")
#undef CHECK
#ifdef USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#undef CHECK
#pragma pop_macro("CHECK")

namespace berth::trainer {

/// libtorch 2 would have libuv serve the store, which not every build of it has. Where no store is
/// served at all, it looks for one somewhat longer than twice the timeout, libtorch 1 just as long.
inline c10d::TCPStoreOptions store_options() {
  c10d::TCPStoreOptions options;
#if TORCH_VERSION_MAJOR >= 2
  options.useLibUV = false;
#endif
  return options;
}

#if TORCH_VERSION_MAJOR < 2
using PeerGroup = c10d::ProcessGroup;
#else
using PeerGroup = c10d::Backend;
#endif

#ifdef USE_C10D_GLOO

constexpr bool kHasGloo = true;

// Where this machine is known under several names, GLOO_SOCKET_IFNAME says by which network the
// others reach it, as in PyTorch.
inline std::shared_ptr<gloo::transport::Device> device_for(const std::string& address) {
  using Gloo = c10d::ProcessGroupGloo;
  const char* const name = std::getenv("GLOO_SOCKET_IFNAME");
  if (name != nullptr && *name != '\0') return Gloo::createDeviceForInterface(name);
  const bool is_loopback = address == "localhost" || address.starts_with("127.");
  return is_loopback ? Gloo::createDeviceForHostname("127.0.0.1") : Gloo::createDefaultDevice();
}

inline c10::intrusive_ptr<PeerGroup> make_peer_group(
    const c10::intrusive_ptr<c10d::TCPStore>& store, const train::PeerPlace& place,
    std::chrono::milliseconds patience) {
  auto options = c10d::ProcessGroupGloo::Options::create(patience);
  options->devices.push_back(device_for(place.address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(place.rank),
                                                     static_cast<int>(place.size), options);
}

#else

/// Not every libtorch comes with the headers of Gloo, which those of its group of processes
/// include: there no group is made.
constexpr bool kHasGloo = false;

inline c10::intrusive_ptr<PeerGroup> make_peer_group(const c10::intrusive_ptr<c10d::TCPStore>&,
                                                     const train::PeerPlace&,
                                                     std::chrono::milliseconds) {
  return {};
}

#endif

}  // namespace berth::trainer
