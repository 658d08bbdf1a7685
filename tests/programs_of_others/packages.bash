# SPDX-License-Identifier: Apache-2.0
# Packages of Debian, those of contrib too, unpacked below the build for the tests of this folder.
# Nothing is installed, and neither the machine's sources of packages nor its lists are changed:
# apt works on a state of its own, with the mirror that the machine has. Sourced by bats files.

others=${build_dir:-$(git rev-parse --show-toplevel)/build/release}/others

# have_packages NAME...: unpacks them below $others/tree, once; what cannot be had skips the test.
have_packages() {
  local why=$BATS_FILE_TMPDIR/why
  # Asked once a file: without a network, that takes a while.
  [[ -e $why ]] || unpack_packages "$@" >"$why" 2>&1 || echo "cannot be had" >>"$why"
  [[ $(tail -n 1 "$why") != "cannot be had" ]] ||
    skip "$* cannot be had here: $(grep -v '^cannot be had' "$why" | tail -n 1)"
}

unpack_packages() (
  command -v apt-get dpkg-deb flock >/dev/null || { echo "this is no Debian system" && exit 1; }
  mkdir -p "$others/"{apt/{lists,cache/archives}/partial,tree,unpacked} || exit
  exec 9>"$others/lock"
  flock 9
  local name wanted=()
  for name in "$@"; do [[ -e $others/unpacked/$name ]] || wanted+=("$name"); done
  ((${#wanted[@]} > 0)) || exit 0
  write_sources >"$others/apt/sources.list" && cd "$others/apt" &&
    timeout 240 apt-get "${apt_options[@]}" update &&
    timeout 240 apt-get "${apt_options[@]}" download "${wanted[@]}" || exit
  for name in "${wanted[@]}"; do
    dpkg-deb -x "$name"_*.deb "$others/tree" && touch "$others/unpacked/$name" || exit
  done
)
apt_options=(-q -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=1
  -o "Dir::Etc::sourcelist=$others/apt/sources.list" -o Dir::Etc::sourceparts=-
  -o "Dir::State::lists=$others/apt/lists" -o "Dir::Cache=$others/apt/cache")

# The machine's own sources of Debian's main, and contrib beside it.
write_sources() {
  local site release component keys=/usr/share/keyrings/debian-archive-keyring.gpg found=1
  [[ ! -e $keys ]] || keys=" [signed-by=$keys]"
  while read -r site release component; do
    [[ $component == main && $site != */*nodesource* ]] || continue
    echo "deb$keys $site $release main contrib"
    found=0
  done < <(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Origin: Debian' |
    sort -u)
  ((found == 0)) || echo "the machine has no source of Debian's packages" >&2
  return "$found"
}

# The libraries of those packages, for one program at a time.
libraries_of_others() { echo "$others"/tree/usr/lib/*-linux-gnu; }
