// SPDX-License-Identifier: Apache-2.0
#include "trainer/text_file.h"

#include <utility>

namespace berth::trainer {

Result<os::Mapping> open_text(const std::string& path) {
  Result<os::Mapping> mapping = os::Mapping::open(path);
  if (!mapping.ok() && mapping.error().code == Errc::kCorrupt) {
    return Error{Errc::kInvalid, path + ": no file with text in it"};
  }
  return mapping;
}

}  // namespace berth::trainer
