// SPDX-License-Identifier: Apache-2.0
#include "server/gpu_job_files.h"

#include <utility>

#include "os/files.h"

namespace berth::server {
namespace {

std::string text_of(const DeviceView& device) {
  std::string text;
  for (const LeaseId lease : device.leases) text += to_text(lease) + "\n";
  return text;
}

}  // namespace

GpuJobFiles::GpuJobFiles(std::string directory, std::function<void(const std::string&)> warn)
    : directory_(std::move(directory)), warn_(std::move(warn)) {}

void GpuJobFiles::keep(const std::vector<DeviceView>& devices) {
  for (const DeviceView& device : devices) {
    std::string text = text_of(device);
    const auto known = written_.find(device.index);
    if (known != written_.end() && known->second == text) continue;
    constexpr unsigned kForAll = 0644;
    const std::string path = directory_ + "/" + std::to_string(device.index);
    const Status written = os::write_file_atomically(path, text, kForAll, os::Sync::kNone);
    if (written.ok()) {
      written_[device.index] = std::move(text);
      has_warned_ = false;
    } else if (!std::exchange(has_warned_, true)) {
      warn_("metrics.gpu_jobs_dir: " + written.error().message);
    }
  }
}

}  // namespace berth::server
