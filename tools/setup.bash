# SPDX-License-Identifier: Apache-2.0
# What ./dev needs from Debian, by purpose, and how it gets it. Sourced by ./dev. Nothing is ever
# removed, nothing is installed that is already there, and without a gap no network is used.

declare -A packages=(
  [build]="cmake g++ ninja-build libboost1.81-dev libcli11-dev libcurl4-openssl-dev libfmt-dev
           libspdlog-dev libsqlite3-dev libssl-dev libsystemd-dev libtomlplusplus-dev
           nlohmann-json3-dev"
  [speed]="ccache mold"
  [test]="bats curl dbus-bin dbus-daemon expect ffmpeg fish git jq less libcap2-bin libgmock-dev
          libgtest-dev librapidcheck-dev musl-tools openssl patch pkgconf procps python3
          python3-jsonschema sqlite3 systemd universal-ctags zsh"
  [systemd]="debootstrap jq procps"
  [npm]="npm"
  [browser]="chromium fonts-dejavu-core"
  [look]="python3-pyte"
  [lint]="clang-format-19 clang-tidy-19 git python3 universal-ctags"
  [clang]="clang-19 libclang-rt-19-dev"
  [bench]="jq task-spooler"
  [gpu]="cmake g++ libboost1.81-dev libcli11-dev libfmt-dev libgmock-dev libgtest-dev libpcre2-dev
       libspdlog-dev libsqlite3-dev libtomlplusplus-dev nlohmann-json3-dev"
  [train]="bible-kjv libgloo-dev libopenblas0-openmp libpcre2-dev libtorch-dev"
  [trials]="jq python3-torch"
)
declare -A purpose=(
  [build]="compiler, build tools and libraries"
  [speed]="faster repeated builds and links"
  [test]="test frameworks and what the tests drive programs with"
  [systemd]="what makes the root of a machine whose systemd runs the units"
  [npm]="what fetches the clients and tools of others that tests, page and site are made with"
  [look]="the terminal on whose screen the chaos run looks at berth top"
  [browser]="what the page and the site are tested in"
  [lint]="formatter and static analysis"
  [clang]="the second compiler, and its fuzzing runtime"
  [bench]="the queue we compare with"
  [gpu]="what the tests that need a real GPU are built with"
  [train]="libtorch, a fast BLAS for it, Gloo, Unicode classes, and a text to learn"
  [trials]="PyTorch to compare with"
)

# need GROUP...: has the packages of these groups installed, or ends ./dev and says why not.
need() {
  command -v dpkg-query >/dev/null || {
    say "this is no Debian system: nothing is checked or installed; needed are" "${packages[@]}"
    return 0
  }
  local group wanted=() missing
  for group in "$@"; do
    # shellcheck disable=SC2206 # the lists are split at blanks on purpose
    wanted+=(${packages[$group]})
  done
  missing=$(missing_of "${wanted[@]}")
  [[ -z $missing ]] && return 0
  for group in "$@"; do
    say_missing "$group" "$missing"
  done
  # shellcheck disable=SC2086
  install_packages $missing
}

# missing_of PACKAGE...: those that are not installed, in one line.
missing_of() {
  local have package missing=()
  have=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package} ' "$@" 2>/dev/null) " || true
  for package in "$@"; do
    [[ $have == *" ii $package "* || " ${missing[*]} " == *" $package "* ]] || missing+=("$package")
  done
  echo "${missing[*]}"
}

say_missing() {
  local package here=()
  for package in ${packages[$1]}; do
    [[ " $2 " == *" $package "* ]] && here+=("$package")
  done
  ((${#here[@]} == 0)) || say "needs ${here[*]} (${purpose[$1]})"
}

install_packages() {
  local as_root=() apt=(apt-get -q -o DPkg::Lock::Timeout=300)
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail 69 "cannot install: neither root nor sudo here; as root:" \
      "apt-get install --no-install-recommends $*"
    as_root=(sudo)
    [[ -t 0 ]] || as_root+=(-n)
  fi
  say "installing from Debian: $*"
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  "${as_root[@]}" "${apt[@]}" update </dev/null ||
    say "the package lists could not all be renewed; going on with those that are here"
  local install=("${apt[@]}" install -y --no-install-recommends --no-remove "$@")
  # shellcheck disable=SC2024 # stdin is closed, not read as root
  "${as_root[@]}" "${install[@]}" </dev/null && return
  # An installation of whatever that was interrupted makes apt refuse all others until it is ended.
  "${as_root[@]}" dpkg --configure -a </dev/null && "${as_root[@]}" "${install[@]}" </dev/null &&
    return
  say_what_is_in_the_way "$@"
  fail 69 "apt could not install: $*"
}

# Debian 12 itself has such a case: libboost1.81-dev and libboost1.74-dev exclude each other.
say_what_is_in_the_way() {
  local removed
  removed=$(apt-get -s install --no-install-recommends "$@" 2>/dev/null |
    sed -n 's/^Remv \([^ ]*\).*/\1/p' | tr '\n' ' ')
  [[ -z $removed ]] || say "in the way: ${removed% } (./dev removes no packages of yours;" \
    "'apt-get remove ${removed% }' does, if you can do without)"
}
