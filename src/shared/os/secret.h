// SPDX-License-Identifier: Apache-2.0
// Reads the secrets that a configuration keeps in files of their own. Any thread; may block on the
// disk.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::os {

/// The keys of the configuration that name such a file: what it holds is told where it is empty.
struct SecretFile {
  std::string key;    // Of the configuration, which names the file.
  std::string path;   // Whole.
  std::string holds;  // "the secret": for the message where there is nothing.
};

inline SecretFile webhook_file(const std::string& path) {
  return {.key = "webhook_file", .path = path, .holds = "the URL"};
}
inline SecretFile secret_file(const std::string& path) {
  return {.key = "secret_file", .path = path, .holds = "the secret"};
}

/// Without line feeds at its end. kPermission unless the file is ours and closed to all others,
/// kInvalid where the path is none from / on, or nothing is there.
Result<std::string> read_secret(const SecretFile& file);

}  // namespace berth::os
