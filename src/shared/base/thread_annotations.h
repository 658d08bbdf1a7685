// SPDX-License-Identifier: Apache-2.0
// Annotations of what a lock protects, which clang checks (-Wthread-safety); nothing to other
// compilers. os/mutex.h has the lock that this is for.
#pragma once

#if defined(__clang__)
#define BERTH_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define BERTH_THREAD_ANNOTATION(x)
#endif

#define CAPABILITY(name) BERTH_THREAD_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY BERTH_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(mutex) BERTH_THREAD_ANNOTATION(guarded_by(mutex))
#define REQUIRES(mutex) BERTH_THREAD_ANNOTATION(requires_capability(mutex))
#define EXCLUDES(mutex) BERTH_THREAD_ANNOTATION(locks_excluded(mutex))
#define ACQUIRE(...) BERTH_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) BERTH_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
