// SPDX-License-Identifier: Apache-2.0
// An empty folder that goes with all that was put into it. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/check.h"

namespace berth::checkpoint {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "/berth_checkpoint_XXXXXX") {
    CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  std::string path_;
};

}  // namespace berth::checkpoint
