// SPDX-License-Identifier: Apache-2.0
// Traces of clusters as text: comma-separated, with a head that names the columns, as the task list
// of cluster-trace-gpu-v2023 (Alibaba Cluster Trace Program) has them. Needed are num_gpu,
// gpu_milli, creation_time, deletion_time and scheduled_time, in seconds; qos and user are taken
// where they are. Columns of other names are not looked at, nor
// tasks that use no GPU.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "replay/task.h"

namespace berth::replay {

/// Sorted by arrival. A share of a GPU is that of `capacity`. qos LS and Guaranteed are high, BE
/// low, all else normal. An error names the line and what is wrong there.
Result<std::vector<Task>> parse_trace(std::string_view text, Bytes capacity);

}  // namespace berth::replay
