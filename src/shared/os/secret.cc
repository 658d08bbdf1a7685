// SPDX-License-Identifier: Apache-2.0
#include "os/secret.h"

#include <cstddef>

#include "os/files.h"

namespace berth::os {
namespace {

constexpr std::size_t kSecretMax = 4'096;

}  // namespace

Result<std::string> read_secret(const SecretFile& file) {
  if (!file.path.starts_with('/')) {
    return Error{Errc::kInvalid, file.key + " must be a whole path, from / on"};
  }
  TRY(secret, read_private_file(file.path, kSecretMax));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (!secret.empty()) return secret;
  return Error{Errc::kInvalid, file.path + " is empty: it must hold " + file.holds};
}

}  // namespace berth::os
