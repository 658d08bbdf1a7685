// SPDX-License-Identifier: Apache-2.0
// Measures that were taken on a lease because of pressure, as JSON. For the other files of this
// folder. Any thread.
#pragma once

#include "model/lease.h"

namespace berth {
class JsonWriter;
}

namespace berth::wire {

class ObjectReader;

/// The field `measures` of a lease. Details, which may name files, are shown to who is shown
/// command lines.
void write_measures(JsonWriter& writer, const LeaseView& view, bool details);
void read_measures(ObjectReader& reader, LeaseView& view);

}  // namespace berth::wire
