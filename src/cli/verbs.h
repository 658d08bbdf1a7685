// SPDX-License-Identifier: Apache-2.0
// The functions behind the verbs, each in a file of its name; verbs.cc lists them.
#pragma once

#include "cli/verb.h"

namespace berth::cli {

int run_alert(Invocation& invocation);
int run_cancel(Invocation& invocation);
int run_checkpoint(Invocation& invocation);
int run_completion(Invocation& invocation);
int run_config(Invocation& invocation);
int run_daemon(Invocation& invocation);
int run_doctor(Invocation& invocation);
int run_estimate(Invocation& invocation);
int run_events(Invocation& invocation);
int run_export(Invocation& invocation);
int run_fit(Invocation& invocation);
int run_history(Invocation& invocation);
int run_ps(Invocation& invocation);
int run_query(Invocation& invocation);
int run_queue(Invocation& invocation);
int run_recommend(Invocation& invocation);
int run_release(Invocation& invocation);
int run_renew(Invocation& invocation);
int run_requeue(Invocation& invocation);
int run_reserve(Invocation& invocation);
int run_pause(Invocation& invocation);
int run_resume(Invocation& invocation);
int run_move(Invocation& invocation);
int run_resize(Invocation& invocation);
int run_run(Invocation& invocation);
int run_show(Invocation& invocation);
int run_status(Invocation& invocation);
int run_version(Invocation& invocation);
int run_wait(Invocation& invocation);
int run_why(Invocation& invocation);

}  // namespace berth::cli
