// SPDX-License-Identifier: Apache-2.0
// Processes that train together, played by threads of one: they share nothing but sockets.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "os/unique_fd.h"
#include "trainer/peers.h"

namespace berth::trainer {

inline std::uint16_t free_port() {
  const os::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(address.sin_port);
}

inline train::PeerPlace place_of(std::uint32_t rank, std::uint32_t size, std::uint16_t port) {
  return {.rank = rank, .size = size, .address = "127.0.0.1", .port = port};
}

/// Each rank does the work in a thread of its own.
inline void together(std::uint32_t size, const std::function<void(Peers&)>& work) {
  const std::uint16_t port = free_port();
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Result<Peers> peers = Peers::meet(place_of(rank, size, port));
      ASSERT_TRUE(peers.ok()) << peers.error().message;
      work(*peers);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace berth::trainer
