// SPDX-License-Identifier: Apache-2.0
// Reads one safetensors file and writes what is in it into another: tensor_copy FROM TO. Ends with
// 1 and the reason on stderr where either cannot be done.
#include <cstdio>

#include "berth/safetensors.h"

int main(int count, char** arguments) {
  namespace checkpoint = berth::checkpoint;
  if (count != 3) return 64;
  const auto file = checkpoint::MappedFile::open(arguments[1]);
  if (!file.ok()) {
    (void)std::fprintf(stderr, "%s\n", file.failure().message.c_str());
    return 1;
  }
  const auto written = checkpoint::write_file(arguments[2], file->tensors(), file->metadata());
  if (written.ok()) return 0;
  (void)std::fprintf(stderr, "%s\n", written.failure().message.c_str());
  return 1;
}
