// SPDX-License-Identifier: Apache-2.0
// Bodies of requests, as anybody may send them: what is accepted reads the same when it is written
// and read again.
#include "fuzz.h"
#include "wire/request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace wire = berth::wire;
  const std::string_view text = berth::fuzz::text_of(data, size);
  berth::fuzz::check_trip(text, wire::decode_request, wire::encode_request);
  berth::fuzz::check_trip(text, wire::decode_process_body, wire::encode_process_body);
  berth::fuzz::check_trip(text, wire::decode_claim, wire::encode_claim);
  berth::fuzz::check_trip(text, wire::decode_reconnect, wire::encode_reconnect);
  berth::fuzz::check_trip(text, wire::decode_requeue, wire::encode_requeue);
  berth::fuzz::check_trip(text, wire::decode_exit, wire::encode_exit);
  berth::fuzz::check_trip(text, wire::decode_park, wire::encode_park);
  berth::fuzz::check_trip(text, wire::decode_release, wire::encode_release);
  berth::fuzz::check_trip(text, wire::decode_resize, wire::encode_resize);
  berth::fuzz::check_trip(text, wire::decode_renew, wire::encode_renew);
  berth::fuzz::check_trip(text, wire::decode_progress, wire::encode_progress);
  berth::fuzz::check_trip(text, wire::decode_checkpoint, wire::encode_checkpoint);
  berth::fuzz::check_trip(text, wire::decode_checkpointed, wire::encode_checkpointed);
  (void)wire::decode_nothing(text);
  return 0;
}
