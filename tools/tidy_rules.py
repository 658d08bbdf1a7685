# SPDX-License-Identifier: Apache-2.0
"""What tidy.py holds the tree to, as tables: libraries behind folders, and banned words."""

# Libraries from outside stay behind the folders named here.
LIBRARIES = {
    'nlohmann/': ['wire', 'cli'],  # Of wire the tests.
    'toml++/': ['config'],
    'boost/': ['http', 'server', 'client', 'agents', 'daemon'],
    'CLI/': ['daemon', 'sim'],
    'sqlite3.h': ['store'],
    'curl/': ['deliver'],
    'openssl/': ['deliver'],
    'systemd/': ['notify'],
    'torch/': ['trainer'],
    'ATen/': ['trainer'],
    'c10/': ['trainer'],
    'pcre2.h': ['trainer'],
    'spdlog/': ['server', 'daemon', 'gpu'],
}

# Banned in pure folders, tests aside.
IMPURE = {
    r'#include <(chrono|ctime|thread|stop_token|mutex|shared_mutex|condition_variable|future'
    r'|atomic|filesystem|fstream|iostream|random|csignal|sys/.*|unistd\.h|fcntl\.h|signal\.h'
    r'|time\.h|poll\.h|dlfcn\.h)>':
        'a pure folder sees no outside world: take it as an event, a value or a parameter',
    r'\bunordered_(multi)?(map|set)\b': 'no order that can be seen depends on a hash: std::map',
    r'\b(map|set)<(const )?[\w:]+ ?\*': 'no order that can be seen depends on addresses',
    r'\b(steady_clock|system_clock|clock_gettime|gettimeofday)\b': 'be handed an Instant',
    r'\b(getenv|s?rand|random_device|mt19937\w*)\b': 'be handed a value or a seed',
    r'\b(fopen|open|printf|fprintf|puts|cout|cerr|cin)\b *(\(|<<|>>)':
        'return text; the edges print and read',
}
# Banned in all C++ of ours. Comments and strings are not looked at.
BANNED = {
    r'\busing namespace\b': 'name what you use',
    r'^[ \t]*#[ \t]*ifndef \w+_H_?\b': '#pragma once',
    r'(?<!operator )\bnew\b(?! *\()': 'std::make_unique, or a value',
    r'(?<!operator )\bdelete\b(?<!= delete)': 'let a unique_ptr or a value own it',
    r'(\.|->)detach\(': 'join it, or do without the thread',
    r'\b(sleep_for|sleep_until|usleep|nanosleep|sleep) *\(': 'wait for what happens, not for time',
    r'\bstd::endl\b': "'\\n'; flush where flushing is meant",
    r'\bassert *\(': 'CHECK, which is on in every build',
    r'\bthrow\b': 'return an Error',
    r'\b(sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof)\b *\(': 'a bounded, checked function',
    r'\b(system|popen) *\(': 'start programs through os/, without a shell',
}
# Banned patterns that the files named here may use, each for the reason beside it.
MAY = {
    'src/shared/base/check.cc': ['fprintf'],  # The last words of a process that is wrong.
    'include/berth/berth.hpp': ['new'],  # The header that declares std::bad_alloc.
    'simgpu/simctl/commands.cc': ['stranger'],  # The former name of a verb.
}
# Banned in every text of the project.
UNWANTED = {
    r'\b(FIX' r'ME|TO' r'DO|XX' r'X)\b': 'mend it before it lands, or leave it out',
    r'(?<![\w.])/(wo' r'rk|ro' r'ot)/': 'a path of one machine says nothing elsewhere',
    r'\b([Ii]s' r'sue|[Dd]eci' r'sion|[Dd]es' r'ign) #?\d{1,3}\b':
        'cite docs/decisions, or say it here',
}
# Banned where users read it: the pages, and sentences in literals. Names of fields may be older.
WORDING = {
    r'\b[Ss]trangers?\b': 'an unmanaged process',
    r'\b[Ww]orlds?\b(?!=)': 'the machine, or a simulated machine',
    r'\b[Aa]skers?\b': 'the client, or who asks',
    r'\b([Hh]e|[Hh]im|[Hh]is|[Hh]imself)\b': 'users are they',
}
# Banned in comments of C++: they name who acts.
UNNAMED = {
    r'\b([Hh]e|[Hh]im|[Hh]is|[Hh]imself)\b': 'programs are it, people are they',
    r'\b([Ww]hoever|[Ss]omebody)\b': 'say which process, user, client or thread',
    r'\b[Aa]skers?\b': 'the requester, or the caller',
    r'\b([Ss]tranger|[Oo]utsider)s?\b': 'an unmanaged process',
}
