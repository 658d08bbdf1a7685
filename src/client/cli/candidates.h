// SPDX-License-Identifier: Apache-2.0
// Completions at the cursor of a command line, found from what the verbs declare. The scripts of
// all shells ask for them, so that none of them knows a verb or an option. Pure but for `leases`.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace berth::cli {

struct Candidate {
  std::string word;
  std::string meaning;
};

struct Candidates {
  std::vector<Candidate> words;              // Those that begin as the last word does.
  bool files = false;                        // And the names of files.
  std::optional<std::size_t> command_begin;  // A command begins at this word: it completes itself.
};

/// `words` is the command line without `berth`, up to the cursor; the last one is being typed and
/// may be empty. `leases` is called only if a lease could stand there.
Candidates find_candidates(const std::vector<std::string>& words,
                           const std::function<std::vector<Candidate>()>& leases);

}  // namespace berth::cli
