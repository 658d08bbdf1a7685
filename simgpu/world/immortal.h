// SPDX-License-Identifier: Apache-2.0
// A value that is never destroyed: state of a library which other threads may still use while the
// program's static destructors run.
#pragma once

namespace berth::simgpu {

template <class T>
union Immortal {
  T value;
  Immortal() : value() {}
  ~Immortal() {}
};

}  // namespace berth::simgpu
