#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Debian's ffmpeg, which knows nothing of Berth, on the simulated driver: it uploads frames to the
# GPU and downloads them, by libcuda alone. The same frames with and without the guard, refused at
# its budget in CUDA's own words, and nothing of that is seen by a neighbour.
load ../cli/lib

sim=1x16GiB,context=300MiB
setup() {
  world_up
  ! berth_is_sanitized || skip "a program without a sanitizer loads no driver that has one"
  type -P ffmpeg >/dev/null || skip "no ffmpeg here (apt-get install ffmpeg)"
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[gpu]\ncontext = "300MiB"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
}

# frames SIZE FILE [COMMAND...]: what comes back of ten frames, as checksums, when COMMAND starts it.
frames() {
  local size=$1 file=$2
  shift 2
  "$@" ffmpeg -hide_banner -loglevel error -nostdin -y -init_hw_device cuda=gpu \
    -filter_hw_device gpu -f lavfi -i "testsrc=size=$size:rate=5:duration=2" \
    -vf format=yuv420p,hwupload,hwdownload,format=yuv420p -f framemd5 "$file"
}
most_used() { berth-simctl show | command jq '.devices[0].used_max_bytes'; }

@test "the frames that come back from the GPU are those that went there, held or not" {
  ffmpeg -hide_banner -loglevel error -nostdin -f lavfi -i testsrc=size=640x360:rate=5:duration=2 \
    -pix_fmt yuv420p -f framemd5 plain
  frames 640x360 alone env LD_LIBRARY_PATH="$(dirname "$(type -P berth)")/../lib/simgpu"
  frames 640x360 held berth run -q -m 1G --
  [[ $(grep -c '^0,' plain) == 10 ]]
  cmp plain alone
  cmp plain held
  (($(most_used) > 300 << 20))
}

@test "frames beyond the budget are refused, and the neighbour never notices" {
  berth run -m 4G -- vram_user --bytes 3GiB --hold 60s --verify >neighbour 2>&1 3>&- &
  eventually grep -q holding neighbour
  local before
  before=$(most_used)
  run frames 7680x4320 small berth run -q -m 320M --
  ((status != 0))
  contains CUDA_ERROR_OUT_OF_MEMORY
  (($(most_used) <= before + (320 << 20)))
  frames 7680x4320 large berth run -q -m 1G --
  (($(most_used) > before + (320 << 20)))
  (($(most_used) <= before + (1 << 30)))
  [[ $(<neighbour) != *rror* ]]
}
