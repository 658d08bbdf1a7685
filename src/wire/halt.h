// SPDX-License-Identifier: Apache-2.0
// By whom, for whom and until when a lease is paused or suspended, as JSON.
#pragma once

#include <optional>
#include <string_view>

#include "base/json_writer.h"
#include "model/lease.h"
#include "wire/json_reader.h"
#include "wire/lease.h"

namespace berth::wire {

/// Who did something to a lease: the name as `key`, and the uid as that with `_id`.
void write_by(JsonWriter& writer, std::string_view key, std::optional<UserId> user,
              const UserNames& names);
void read_by(ObjectReader& reader, std::string_view key, std::optional<UserId>& user);

/// `paused` of a lease.
void write_pause(JsonWriter& writer, const std::optional<Pause>& pause, const UserNames& names);
void read_pause(ObjectReader& reader, std::optional<Pause>& pause);

/// `halted` of a lease, and of why. Read, it adds whom it names.
void write_halt(JsonWriter& writer, const std::optional<Halt>& halt, const UserNames& names);
void read_halt(ObjectReader& reader, std::optional<Halt>& halt, UserNames& names);

}  // namespace berth::wire
