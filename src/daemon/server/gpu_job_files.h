// SPDX-License-Identifier: Apache-2.0
// Files that tell dcgm-exporter whose a GPU is (its --hpc-job-mapping-dir): of each GPU one, named
// by its index, with the number of a lease in each line. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/view.h"

namespace berth::server {

class GpuJobFiles {
 public:
  /// Empty `directory`: none are kept. `warn` hears once when they cannot be written.
  GpuJobFiles(std::string directory, std::function<void(const std::string&)> warn);

  bool are_kept() const { return !directory_.empty(); }
  /// Writes those that read differently.
  void keep(const std::vector<DeviceView>& devices);

 private:
  const std::string directory_;
  const std::function<void(const std::string&)> warn_;
  std::map<std::uint32_t, std::string> written_;  // By index.
  bool has_warned_ = false;
};

}  // namespace berth::server
