// SPDX-License-Identifier: Apache-2.0
// The functions behind the verbs, each in a file of its name; verbs.cc lists them.
#pragma once

#include "cli/verb.h"

namespace berth::cli {

using RunVerb = int(Invocation&);

RunVerb run_agree, run_alert, run_cancel, run_checkpoint, run_clean, run_completion, run_config,
    run_daemon, run_dashboard, run_doctor, run_down, run_edit, run_estimate, run_events, run_export,
    run_fit, run_history, run_hook, run_hold, run_logs, run_mcp, run_message, run_move, run_pause,
    run_plan, run_ps, run_query, run_queue, run_recommend, run_refuse, run_release, run_renew,
    run_replay, run_requeue, run_reserve, run_resize, run_resume, run_run, run_setup, run_show,
    run_status, run_submit, run_top, run_trust, run_up, run_version, run_wait, run_why;

}  // namespace berth::cli
