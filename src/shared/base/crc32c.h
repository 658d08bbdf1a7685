// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), as iSCSI has it (RFC 3720): by the processor's own instruction where it has
// one, else by a table. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace berth {

/// Of `bytes` behind what gave `before`: 0 for the first.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The same, always by the table.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace berth
