#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that compile for the GPU while they run or before, on the simulated driver: Debian's
# hashcat, which needs the compiler of a CUDA toolkit at run time, and what clang makes of OpenMP
# for nvptx64, which needs its assembler. The same result with and without the guard, refused at a
# small budget, and the neighbour never notices. Kernels do not run, so nothing is found.
load ../cli/lib
load packages

sim=1x16GiB,context=300MiB
setup() {
  world_up
  ! berth_is_sanitized || skip "a program without a sanitizer loads no driver that has one"
  local place
  for place in "${CUDA_HOME:-/usr/local/cuda}" /usr/local/cuda-[0-9]* /usr/lib/cuda /usr; do
    [[ ! -x $place/bin/ptxas ]] || { toolkit=$place && break; }
  done
  [[ -n ${toolkit-} ]] || skip "no CUDA toolkit here (ptxas in /usr/local/cuda or CUDA_HOME)"
  mkdir -p "$XDG_CONFIG_HOME/berth"
  printf '[gpu]\ncontext = "300MiB"\n' >"$XDG_CONFIG_HOME/berth/config.toml"
  driver=$(realpath "$(dirname "$(type -P berth)")/../lib/simgpu")
  berth run -q -m 4G -- vram_user --bytes 3GiB --hold 160s --verify >neighbour 2>&1 3>&- &
  eventually grep -sq holding neighbour
  before=$(most_used)
}
teardown() {
  local red=0
  ! grep -s rror neighbour || red=1
  world_down && return "$red"
}
most_used() { berth-simctl show | command jq '.devices[0].used_max_bytes'; }
# most_used_is_within MIB: so much and no more was ever used beside the neighbour.
most_used_is_within() { (($(most_used) <= before + ($1 << 20))); }

# A folder from which hashcat runs: it looks for all that it needs beside itself, and keeps there
# what it has compiled.
make_hashcat() {
  local name share=$others/tree/usr/share/hashcat
  mkdir hashcat && cp "$others/tree/usr/bin/hashcat" hashcat/
  for name in "$share"/*; do ln -s "$name" hashcat/; done
  ln -sfn "$others/tree/usr/lib/hashcat/modules" hashcat/modules
  printf '%s\n' one two three >words
}
# crack [COMMAND...]: what hashcat says of a word that is not in the list, when COMMAND starts it.
crack() {
  timeout --foreground 120 "$@" ./hashcat/hashcat -m 0 -a 0 --self-test-disable --potfile-disable \
    --force -D 2 5f4dcc3b5aa765d61d8327deb882cf99 words 2>&1 |
    tr '\r' '\n' | grep -oE '^(Status|Recovered|Progress|Rejected)\..*|Not enough allocatable.*'
}

@test "hashcat tries all words with and without the guard, and declines a budget that is too small" {
  compgen -G "$toolkit/lib*/libnvrtc.so*" >/dev/null || skip "the toolkit has no NVRTC"
  have_packages hashcat hashcat-data libminizip1 libxxhash0
  make_hashcat
  export LD_LIBRARY_PATH=$(libraries_of_others):$toolkit/lib64
  crack berth run -q -m 420M -- >small
  [[ $(<small) == "Not enough allocatable device memory for this attack." ]]
  most_used_is_within 420
  crack env LD_LIBRARY_PATH="$driver:$LD_LIBRARY_PATH" >plain
  grep -q '^Status.*Exhausted' plain
  grep -q '^Progress.* 3/3 (100.00%)' plain
  crack berth run -q -m 2G -- >held
  diff plain held
  fails most_used_is_within 300 # A context, and more.
}

# A program that takes so many MiB to the device and back, and says who it was that computed.
make_offload() {
  cat >offload.c <<'END'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char** words) {
  long bytes = atol(words[count - 1]) << 20;
  char* data = malloc((size_t)bytes);
  for (long i = 0; i < bytes; ++i) data[i] = (char)(i * 7);
  int on_host = -1;  // Stays so where a kernel should have run.
#pragma omp target map(tofrom : data[0:bytes]) map(tofrom : on_host)
  on_host = omp_is_initial_device();
  long wrong = 0;
  for (long i = 0; i < bytes; ++i) wrong += data[i] != (char)(i * 7);
  printf("%d devices, on host %d, %ld wrong\n", omp_get_num_devices(), on_host, wrong);
  return 0;
}
END
  local clang
  for clang in $(compgen -c clang- | grep -xE 'clang-[0-9]+' | sort -ru) clang; do
    "$clang" -O1 -fopenmp -fopenmp-targets=nvptx64 -Xopenmp-target -march=sm_75 \
      --cuda-path="$toolkit" offload.c -o offload >>compiled 2>&1 && return
  done
  skip "no clang here that compiles OpenMP for nvptx64 (clang-14 and libomp-14-dev do)"
}

@test "OpenMP's target regions are offloaded with and without the guard, and refused at a budget" {
  make_offload
  # 40 MiB beside the context. What does not fit is computed on the host or ends the program, as
  # the version of LLVM has it.
  run timeout 60 berth run -q -m 340M -- ./offload 64
  [[ $output == "1 devices, on host 1, 0 wrong" || $status != 0 ]]
  [[ $status == 0 || $output == *"CUDA error: out of memory"* ]]
  timeout 60 berth run -q -m 340M -- ./offload 16 >fits
  most_used_is_within 340
  LD_LIBRARY_PATH=$driver timeout 60 ./offload 64 >plain
  [[ $(<plain) == "1 devices, on host -1, 0 wrong" ]]
  cmp plain fits
  timeout 60 berth run -q -m 1G -- ./offload 64 >held
  cmp plain held
  fails most_used_is_within 363
}
