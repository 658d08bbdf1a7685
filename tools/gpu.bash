# SPDX-License-Identifier: Apache-2.0
# `./dev gpu` and `./dev bundle`: the tests that need a real GPU, on a machine that may have nothing
# but a compiler, CMake and a driver; and the libraries that they are built with, carried there.
# Sourced by ./dev.

bundle_mib_max=60
seconds_build=0 seconds_tests=0 trainer="not built"

# make_bundle FOLDER: headers, static libraries and licences, from the packages that are here.
make_bundle() {
  local folder=$1 new=$1.new package size
  rm -rf "$new"
  mkdir -p "$new/include" "$new/lib" "$new/licences"
  echo "commit $(commit_here)" >"$new/MANIFEST"
  # shellcheck disable=SC2086 # the list is split at blanks on purpose
  for package in ${packages[gpu]}; do
    case $package in
      cmake | g++) continue ;;
      libboost*) take_boost "$new" || return ;;
      *) take_package "$package" "$new" || return ;;
    esac
    cp "/usr/share/doc/$package/copyright" "$new/licences/$package" || return
    dpkg-query -W -f '${Package} ${Version}\n' "$package" >>"$new/MANIFEST" || return
  done
  size=$(du -sm --apparent-size "$new" | cut -f 1)
  ((size <= bundle_mib_max)) || fail 70 "$new has $size MiB, more than $bundle_mib_max"
  rm -rf "$folder"
  mv "$new" "$folder"
  say "$folder has $size MiB; copied with the tree, ./dev gpu builds from it where the packages" \
    "are missing"
}

# take_package PACKAGE FOLDER: its headers, and those static libraries that we link.
take_package() {
  local path to
  while read -r path; do
    [[ -f $path ]] || continue
    case $path in
      /usr/include/*-linux-gnu/*) to=include/${path#/usr/include/*-linux-gnu/} ;;
      /usr/include/*) to=include/${path#/usr/include/} ;;
      */libgtest.a | */libgtest_main.a | */libgmock.a | */libsqlite3.a | */libpcre2-8.a)
        to=lib/${path##*/} ;;
      *) continue ;;
    esac
    install -D -m 0644 "$path" "$2/$to" || return
  done < <(dpkg-query -L "$1")
}

# take_boost FOLDER: those libraries of it that we include, whole, since another compiler may
# include more of them; of the three largest, which are made of alternatives, what is read here.
take_boost() {
  local source header library group
  local -A libraries=()
  # As SOURCE_ROOTS of CMakeLists.txt: each group's folders have names of their own.
  local roots=(-Isrc)
  for group in src/*/; do roots+=("-I${group%/}"); done
  mapfile -t sources < <(grep -rlE --include='*.cc' '#include <boost/' src)
  for source in "${sources[@]}"; do
    g++ -std=c++23 -M "${roots[@]}" -DBOOST_ASIO_SEPARATE_COMPILATION -DFMT_HEADER_ONLY=1 \
      -DSPDLOG_FMT_EXTERNAL '-DBERTH_VERSION=""' "$source" >>"$1/boost.d" || return
  done
  while read -r header; do
    library=${header#/usr/include/boost/}
    case $library in
      preprocessor/* | mpl/* | numeric/*)
        install -D -m 0644 "$header" "$1/include/boost/$library" || return ;;
      */*) libraries[${library%%/*}]=1 ;;
    esac
  done < <(tr ' ' '\n' <"$1/boost.d" | grep '^/usr/include/boost/' | sort -u)
  rm "$1/boost.d"
  ((${#libraries[@]} > 0)) || fail 70 "no source includes Boost any more: mend take_boost"
  cp /usr/include/boost/*.hpp "$1/include/boost/" || return
  for library in "${!libraries[@]}"; do
    cp -r "/usr/include/boost/$library" "$1/include/boost/" || return
  done
}

has_gpu() {
  [[ -e /dev/dxg ]] || compgen -G '/dev/nvidia[0-9]*' >/dev/null
}

# The commit of this tree: where it came without its history, that of its bundle.
commit_here() {
  git rev-parse HEAD 2>/dev/null && return
  sed -n 's/^commit \([0-9a-f]*\).*/\1 (of the bundle)/p' build/bundle/MANIFEST 2>/dev/null |
    grep . || echo unknown
}

# bundle_is_needed: there is one, and the packages are not here.
bundle_is_needed() {
  [[ -f build/bundle/MANIFEST ]] || return 1
  command -v dpkg-query >/dev/null || return 0
  # shellcheck disable=SC2086
  [[ -n $(missing_of ${packages[gpu]}) ]]
}

# build_gpu_tests TARGET...: with the packages, or else out of the bundle and without a network; and
# berth-train, where there is a PyTorch.
build_gpu_tests() {
  local target targets=() begin=$SECONDS
  choose_gpu_options || return
  cmake --preset gpu "${gpu_options[@]}" || return
  for target in "$@"; do targets+=(--target "$target"); done
  cmake --build build/gpu --parallel "$(nproc)" "${targets[@]}" || return
  build_trainer || return
  seconds_build=$((SECONDS - begin))
}

# Into gpu_options, what CMake has to know of where the libraries are and how to build.
choose_gpu_options() {
  local tool
  gpu_options=()
  if bundle_is_needed; then
    say "the libraries come from build/bundle"
    for tool in cmake g++; do
      command -v "$tool" >/dev/null || fail 69 "needs $tool, which no bundle has"
    done
    gpu_options+=("-DBUNDLE=$PWD/build/bundle")
  else
    need gpu || return
    gpu_options+=(-DBUNDLE=)
  fi
  if ! command -v ninja >/dev/null; then
    command -v make >/dev/null || fail 69 "needs ninja or make"
    gpu_options+=(-G "Unix Makefiles")
  fi
}

# build_trainer: BERTH_GPU_TRAINER is where berth-train is then, or BERTH_GPU_NO_TRAINER says why it
# cannot be had, and its tests are skipped. One that does not compile lets them fail.
build_trainer() {
  local prefix abi log=build/gpu_trainer.log
  export BERTH_GPU_TRAINER="" BERTH_GPU_NO_TRAINER=""
  { read -r prefix && read -r abi; } < <(of_pytorch \
    'torch.utils.cmake_prefix_path, torch.compiled_with_cxx11_abi()') || true
  if [[ -z $prefix ]]; then
    no_trainer "python3 cannot import PyTorch"
  elif [[ ! -f $prefix/Torch/TorchConfig.cmake ]]; then
    no_trainer "this PyTorch comes without libtorch (no $prefix/Torch)"
  elif [[ $abi != True ]]; then
    no_trainer "this PyTorch is not built with the C++11 ABI"
  elif ! cmake --preset gpu_trainer "${gpu_options[@]}" "-DTorch_DIR=$prefix/Torch" \
    >"$log" 2>&1; then
    no_trainer "CMake cannot build with this PyTorch ($log)"
  else
    say "berth-train is built with the libtorch of PyTorch"
    BERTH_GPU_TRAINER=$PWD/build/gpu_trainer/bin/berth-train trainer=built
    cmake --build build/gpu_trainer --parallel "$(nproc)" --target berth-train || {
      trainer="does not compile"
      say "berth-train $trainer: its tests fail"
      rm -f "$BERTH_GPU_TRAINER" # That of an earlier build.
    }
  fi
}

no_trainer() {
  BERTH_GPU_NO_TRAINER=$1 trainer=$1
  say "no berth-train: $1"
}

# of_pytorch EXPRESSIONS: a line for each; nothing without PyTorch.
of_pytorch() {
  python3 -B -c "import torch
for value in ($1,): print(value)" 2>/dev/null
}

# The same as on a machine with a GPU, over the simulated driver, with what comes of it in build/.
rehearse_gpu_tests() {
  say "a rehearsal over the simulated driver: it shows that all of it runs, and nothing about a GPU"
  build_gpu_tests gpu_rehearsal || return
  BERTH_GPU_TESTS_ON=simulated run_gpu_tests build/gpu/rehearsal
}

# run_gpu_tests FOLDER [CTEST-OPTION...]: and after all of them the figures, with what came of the
# tests, into the folder.
run_gpu_tests() {
  local folder=$1 results=$PWD/build/gpu/results.xml code=0 counts file begin=$SECONDS
  shift
  rm -f "$results"
  ctest --preset gpu --label-regex '^real_gpu$' --output-junit "$results" "$@" || code=$?
  seconds_tests=$((SECONDS - begin))
  counts=$(counts_of_tests "$results") || fail 70 "ctest has left no $results"
  # shellcheck disable=SC2086 # three numbers
  set -- "$#" $counts
  say "$2 tests passed, $3 failed, $4 skipped"
  (($2 + $3 > 0)) || fail 69 "no test has run"
  (($1 == 0)) || return "$code" # Not all of them were asked for.
  file=$folder/gpu-$(date -u +%Y-%m-%d).json
  say "measuring"
  measure_gpu "$file" "$2" "$3" "$4" || code=$?
  [[ ! -f $file ]] || say "the figures are in $file"
  return "$code"
}

# counts_of_tests FILE: how many passed, failed and were skipped, of ctest's JUnit file.
counts_of_tests() {
  local head total failed skipped
  head=$(tr '\n\t' '  ' <"$1" | grep -o '<testsuite [^>]*>') || return
  total=$(sed 's/.* tests="\([0-9]*\)".*/\1/' <<<"$head")
  failed=$(sed 's/.* failures="\([0-9]*\)".*/\1/' <<<"$head")
  skipped=$(sed 's/.* skipped="\([0-9]*\)".*/\1/' <<<"$head")
  echo "$((total - failed - skipped)) $failed $skipped"
}

# measure_gpu FILE PASSED FAILED SKIPPED
measure_gpu() {
  local facts toolkit torch
  toolkit=$( (nvcc --version || /usr/local/cuda/bin/nvcc --version) 2>/dev/null |
    sed -n 's/.*release \([0-9.]*\).*/\1/p')
  torch=$(of_pytorch torch.__version__) || true
  facts=$(
    echo "date=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "commit=$(commit_here)"
    [[ -z $(git status --porcelain 2>/dev/null) ]] || echo "uncommitted_changes=yes"
    echo "machine=$(machine | sed -n 's/^machine //p')"
    echo "libraries=$(bundle_is_needed && echo bundle || echo packages)"
    echo "cuda_toolkit=${toolkit:-none}"
    echo "torch=${torch:-none}"
    echo "trainer=$trainer"
    printf 'seconds_build=%s\nseconds_tests=%s\n' "$seconds_build" "$seconds_tests"
    printf 'tests_passed=%s\ntests_failed=%s\ntests_skipped=%s\n' "$2" "$3" "$4"
  )
  mkdir -p "${1%/*}"
  BERTH_GPU_FACTS=$facts BERTH_GPU_FIGURES=$PWD/$1 build/gpu/bin/gpu_measure
}
