// SPDX-License-Identifier: Apache-2.0
// Saves on request as JSON: in a request, how it can be asked; in a lease, that and what became of
// it. For the other files of this folder. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "model/lease.h"

namespace berth {
class JsonWriter;
}

namespace berth::wire {

class ObjectReader;

void write_checkpoint_way(JsonWriter& writer, const CheckpointWay& way);
std::optional<CheckpointWay> read_checkpoint_way(ObjectReader& reader, std::string_view field);

/// The field `checkpoint` of a lease; null where it cannot be asked. Details, which may name files,
/// are shown to who is shown command lines.
void write_checkpoints(JsonWriter& writer, const LeaseView& view, bool details);
void read_checkpoints(ObjectReader& reader, LeaseView& view);

}  // namespace berth::wire
