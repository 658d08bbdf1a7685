#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `estimate` and `recommend`: figures from a model's config, without a GPU; with the memory of
# the lease or of the daemon's GPUs.
sim=2x16GiB
load lib

gpt2() {
  echo '{"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024,
    "vocab_size": 50257}' >config.json
}

@test "estimate tells what each part takes, without a daemon" {
  gpt2
  run --separate-stderr berth estimate config.json --batch 2 --sequence 512 --json
  status_is 0
  jq -es 'length == 1 and (.[0] | .schema == "berth/estimate/v1" and .parameters == 124439808 and
    .weights_bytes + .gradients_bytes + .optimizer_bytes == 16 * .parameters and
    (.activations_bytes / 1048576 - 1066.5 | fabs) < 1 and
    .norms_bytes + .attention_bytes + .feed_forward_bytes + .output_bytes == .activations_bytes and
    .fits == null and .largest_batch == null)' <<<"$output"
  run --separate-stderr berth estimate config.json --batch 2 --sequence 512
  status_is 0
  contains "parameters"
  contains "1.0 GiB"
}

@test "with -m it says whether it fits, and ends so" {
  gpt2
  run --separate-stderr berth estimate . --sequence 512 -m 4G --json
  status_is 0
  local most
  most=$(jq -es '.[0] | select(.fits) | .largest_batch' <<<"$output")
  run --separate-stderr berth estimate . --sequence 512 -m 4G --batch "$most"
  status_is 0
  contains "It fits into 4.0 GiB; batch size $most is the largest that fits"
  run --separate-stderr berth estimate . --sequence 512 -m 4G --batch $((most + 1))
  status_is 1
  contains "It does not fit into 4.0 GiB; batch size $most is the largest that fits"
}

@test "a file of tensors tells parameters, and that the rest is unknown" {
  python3 - <<'PYTHON'
import struct
head = b'{"w":{"dtype":"BF16","shape":[1000,3],"data_offsets":[0,6000]},' \
       b'"s":{"dtype":"F32","shape":[],"data_offsets":[6000,6004]}}'
open('m.safetensors', 'wb').write(struct.pack('<Q', len(head)) + head + bytes(6004))
PYTHON
  run --separate-stderr berth estimate m.safetensors --json
  status_is 0
  jq -es 'length == 1 and (.[0] | .parameters == 3001 and .weights_bytes == 12004 and
    .activations_bytes == null and .peak_bytes == null)' <<<"$output"
  run --separate-stderr berth estimate m.safetensors
  contains "unknown: name the model's config.json"
  run --separate-stderr berth estimate .
  status_is 0
  run --separate-stderr berth recommend m.safetensors -m 8G
  status_is 65
  [[ $stderr == *"name the model's config.json"* ]]
}

@test "what cannot be read is said by name" {
  run --separate-stderr berth estimate nothing.json
  status_is 66
  [[ $stderr == *nothing.json* ]]
  echo '{"model_type": "t5"}' >config.json
  run --separate-stderr berth estimate config.json
  status_is 65
  [[ $stderr == *"config.json: models of the type 't5'"* ]]
  echo nonsense >bad.safetensors
  run --separate-stderr berth estimate bad.safetensors
  status_is 65
  run --separate-stderr berth estimate config.json --batch 0
  status_is 64
  run --separate-stderr berth estimate config.json --precision fp8
  status_is 64
}

@test "recommend says each setting with its reason" {
  gpt2
  run --separate-stderr berth recommend config.json -m 8G --batch 32 --json
  status_is 0
  jq -es 'length == 1 and (.[0] | .schema == "berth/recommend/v1" and .fits and
    .profile == "8 GB" and .batch_per_gpu * .accumulation == 32 and .peak_bytes < 8589934592 and
    ([.rules[].rule] == ["model_size", "precision", "gradient_checkpointing", "batch_per_gpu",
      "accumulation"]) and all(.rules[]; .reason | length > 20))' <<<"$output"
  run --separate-stderr berth recommend config.json -m 8G
  contains "profile 8 GB"
  contains "gradient_checkpointing: on"
}

@test "recommend counts the smallest GPU and not the sum" {
  echo '{"model_type": "llama", "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
    "vocab_size": 32000}' >config.json
  run --separate-stderr berth recommend config.json -m 4G -g 8
  status_is 1
  contains "does not fit"
  contains "not the 32.0 GiB of all together"
  contains "largest_model: up to"
}

@test "recommend takes the lease's budget, else what the GPUs have" {
  run --separate-stderr berth recommend
  status_is 0
  contains "2 GPUs, the smallest with 15"
  run --separate-stderr berth run -q -m 3G -- berth recommend
  status_is 0
  contains "1 GPU, the smallest with 3.0 GiB"
  run --separate-stderr bash -c 'eval "$(berth reserve 10m -m 5G --export)"
    berth recommend && berth release "$BERTH_LEASE" && berth recommend'
  status_is 0
  contains "1 GPU, the smallest with 5.0 GiB"
  contains "2 GPUs, the smallest with 15"  # A shell keeps the variables of what is over.
  [[ $stderr == *"BERTH_LEASE_ID=l_"*" is no lease that is held: its budget does not count"* ]]
  run --separate-stderr berth recommend -m 24G
  contains "profile 24 GB and more"
  contains "bytes each for weights, gradients and optimizer"
}

@test "run says at the end that memory grew all the while, and says it of nobody else" {
  run --separate-stderr berth run -m 6G -n leaky -- vram_user --bytes 4GiB --rate 150MiB --quiet
  status_is 0
  [[ $stderr == *"its memory grew all the while, by about "*"a minute"*"a leak?"* ]]
  run --separate-stderr berth run -m 6G -n steady -- vram_user --bytes 4GiB --hold 22s --quiet
  status_is 0
  [[ $stderr != *"grew all the while"* ]]
}
