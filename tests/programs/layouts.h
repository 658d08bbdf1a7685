// SPDX-License-Identifier: Apache-2.0
// Structures of the CUDA driver's public ABI, as cuda.h has them, for programs that know nothing of
// Berth.
#pragma once

#include <cstddef>
#include <cstdint>

/// Arrays of elements of four floats.
struct Flat {
  std::size_t width, height;
  unsigned int format = 0x20, channels = 4;
};
struct Deep {
  std::size_t width, height, depth;
  unsigned int format = 0x20, channels = 4, flags = 0;
};

/// Pinned memory of a device.
struct Properties {
  int type = 1;
  int handle_types = 0;
  int location_type = 1;
  int location = 0;
  void* metadata = nullptr;
  unsigned char flags[8] = {};
};
struct Pool {
  int type = 1;
  int handle_types = 0;
  int location_type = 1;
  int location = 0;
  void* attributes = nullptr;
  unsigned char rest[64] = {};
};

struct Instantiation {
  std::uint64_t flags = 0;
  void* stream = nullptr;
  void* failed = nullptr;
  std::uint64_t result = 0;
};
