package monitoring

import (
	"time"
)

// Values of synthetic series.
func always(value float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return value }
}

func growing(perSecond float64) func(time.Duration) float64 {
	return func(since time.Duration) float64 { return perSecond * since.Seconds() }
}

func metric(name string, value func(time.Duration) float64, labels ...string) series {
	return series{labels: append([]string{"__name__", name}, labels...), value: value}
}

// histogram grows by one observation per second, all in the bucket le.
func histogram(name, le string, labels ...string) []series {
	var out []series
	for _, bound := range []string{"1", "10", "60", "+Inf"} {
		rate := 0.0
		if bound == le || bound == "+Inf" || (le == "1") || (le == "10" && bound == "60") {
			rate = 1
		}
		out = append(out, metric(name, growing(rate), append([]string{"le", bound}, labels...)...))
	}
	return out
}

// ruleCase is a fleet in which a rule fires, and one in which it does not.
type ruleCase struct {
	fires, quiet []series
	text         string
}

// ruleCases are the cases of each rule, by its alert.
func ruleCases() map[string]ruleCase {
	const day = 86400
	hub := []string{"job", "fairlead-hub"}
	// Backups are scheduled daily.
	const newest, every = "fairlead_hub_backup_last_success_timestamp_seconds", "fairlead_hub_backup_interval_seconds"
	made := func(daysAgo float64) series { return metric(newest, always(float64(start().Unix())-daysAgo*day)) }
	calm := []series{
		metric("fairlead_hub_applications", always(5), "state", "Healthy"),
		metric("fairlead_hub_clusters", always(10), "state", "Ready"),
		metric("fairlead_hub_clusters", always(0), "state", "Silent"),
	}
	return map[string]ruleCase{
		"FairleadHubAbsent": {fires: []series{metric("up", always(1))}, quiet: calm, text: "No hub has told"},
		"FairleadHubFailing": {
			fires: []series{metric("controller_runtime_reconcile_errors_total", growing(1), append(hub, "controller", "binding")...)},
			quiet: []series{
				metric("controller_runtime_reconcile_errors_total", growing(0.01), append(hub, "controller", "binding")...),
				metric("controller_runtime_reconcile_errors_total", growing(9), "job", "somebody-else", "controller", "binding"),
			}, text: "binding",
		},
		"FairleadHubBehind": {
			fires: histogram("workqueue_queue_duration_seconds_bucket", "60", append(hub, "name", "status")...),
			quiet: histogram("workqueue_queue_duration_seconds_bucket", "1", append(hub, "name", "status")...), text: "status",
		},
		"FairleadPropagationSlow": {
			fires: histogram("fairlead_hub_propagation_seconds_bucket", "60"), quiet: histogram("fairlead_hub_propagation_seconds_bucket", "10"), text: "One of a hundred",
		},
		"FairleadPropagationStuck": {
			fires: []series{metric("fairlead_hub_propagation_oldest_seconds", growing(1))},
			quiet: []series{metric("fairlead_hub_propagation_oldest_seconds", always(3))}, text: "hub get -A --unready",
		},
		"FairleadClusterSilent": {
			fires: []series{metric("fairlead_hub_cluster_heartbeat_age_seconds", growing(1), "cluster", "edge-1")},
			quiet: []series{metric("fairlead_hub_cluster_heartbeat_age_seconds", always(9), "cluster", "edge-1")}, text: "hub clusters describe edge-1",
		},
		"FairleadManyClustersSilent": {
			fires: []series{
				metric("fairlead_hub_clusters", always(6), "state", "Ready"), metric("fairlead_hub_clusters", always(4), "state", "Silent"),
			}, quiet: calm, text: "40% of the clusters",
		},
		"FairleadClusterNotReady": {
			fires: []series{metric("fairlead_hub_clusters", always(1), "state", "NotReady")}, quiet: calm, text: "1 clusters",
		},
		"FairleadCertificateEndsSoon": {
			fires: []series{metric("fairlead_hub_cluster_certificate_remaining_seconds", always(2*day), "cluster", "edge-1")},
			quiet: []series{
				// The latest time at which an agent may plan the renewal.
				metric("fairlead_hub_cluster_certificate_remaining_seconds", always(10.0/3*day), "cluster", "edge-1"),
				metric("fairlead_hub_cluster_certificate_remaining_seconds", always(-1), "cluster", "edge-2"),
			}, text: "2d",
		},
		"FairleadCertificateExpired": {
			fires: []series{metric("fairlead_hub_cluster_certificate_remaining_seconds", always(-5), "cluster", "edge-1")},
			quiet: []series{metric("fairlead_hub_cluster_certificate_remaining_seconds", always(5), "cluster", "edge-1")}, text: "--rejoin edge-1",
		},
		"FairleadHubCertificateEndsSoon": {
			fires: []series{
				metric("fairlead_hub_certificate_remaining_seconds", always(9*day), "certificate", "etcd"), metric("fairlead_hub_certificate_lifetime_seconds", always(365*day), "certificate", "etcd"),
			},
			quiet: []series{
				metric("fairlead_hub_certificate_remaining_seconds", always(20*day), "certificate", "etcd"), metric("fairlead_hub_certificate_lifetime_seconds", always(365*day), "certificate", "etcd"),
				// A certificate that is reissued daily.
				metric("fairlead_hub_certificate_remaining_seconds", always(day/3), "certificate", "dashboard"), metric("fairlead_hub_certificate_lifetime_seconds", always(day), "certificate", "dashboard"),
			}, text: "A certificate of the hub ends soon: etcd It holds for 9d",
		},
		"FairleadMemberCertificateEndsSoon": {
			fires: memberCertificate("edge-1", -5, 365*day), quiet: memberCertificate("edge-1", 15*day, 365*day), text: "agent of edge-1",
		},
		"FairleadDeletionsHeld": {
			fires: []series{metric("fairlead_hub_cluster_deletions_held", always(1), "cluster", "edge-1")},
			quiet: []series{metric("fairlead_hub_cluster_deletions_held", always(0), "cluster", "edge-1")}, text: "hub clusters describe edge-1",
		},
		"FairleadDatabaseFilling": {
			fires: []series{
				metric("fairlead_hub_database_in_use_bytes", always(7<<30), "instance", "a"), metric("fairlead_hub_database_quota_bytes", always(8<<30), "instance", "a"),
				metric("fairlead_hub_database_in_use_bytes", always(1<<30), "instance", "b"), metric("fairlead_hub_database_quota_bytes", always(8<<30), "instance", "b"),
			},
			quiet: []series{
				metric("fairlead_hub_database_bytes", always(8<<30)), // old revisions and free pages, which the hub compacts by itself
				metric("fairlead_hub_database_in_use_bytes", always(6<<30)), metric("fairlead_hub_database_quota_bytes", always(8<<30)),
			}, text: "87.5% of what it may have",
		},
		"FairleadAuthorityEndsSoon": {
			fires: []series{metric("fairlead_hub_authority_remaining_seconds", always(100*day))},
			quiet: []series{metric("fairlead_hub_authority_remaining_seconds", always(200*day))}, text: "hub ca begin",
		},
		"FairleadFrontProxyAuthorityEndsSoon": {
			fires: []series{metric("fairlead_hub_front_proxy_authority_remaining_seconds", always(-day))},
			quiet: []series{metric("fairlead_hub_front_proxy_authority_remaining_seconds", always(200*day))}, text: "a restart of `hub serve`",
		},
		"FairleadSeveralAgents": {
			fires: []series{metric("fairlead_hub_clusters_noted", always(2), "reason", "SeveralAgents")},
			quiet: []series{metric("fairlead_hub_clusters_noted", always(0), "reason", "SeveralAgents"), metric("fairlead_hub_clusters_noted", always(1), "reason", "CapacityJumped")},
			text:  "2 clusters have several agents",
		},
		"FairleadRightsWithheld": {
			fires: []series{metric("fairlead_hub_clusters_noted", always(1), "reason", "RightsWithheld")},
			quiet: []series{metric("fairlead_hub_clusters_noted", always(0), "reason", "RightsWithheld")}, text: "hub forget --release",
		},
		"FairleadCapacityJumped": {
			fires: []series{metric("fairlead_hub_clusters_noted", always(1), "reason", "CapacityJumped")},
			quiet: []series{metric("fairlead_hub_clusters_noted", always(0), "reason", "CapacityJumped")}, text: "spec.capacityLimit",
		},
		"FairleadCapacityUnknown": {
			fires: []series{metric("fairlead_hub_clusters_noted", always(1), "reason", "CapacityUnknown")},
			quiet: []series{metric("fairlead_hub_clusters_noted", always(0), "reason", "CapacityUnknown"), metric("fairlead_hub_clusters_noted", always(1), "reason", "CapacityJumped")},
			text:  "What 1 clusters have left is not known",
		},
		"FairleadUnclaimedObjects": {
			fires: []series{metric("fairlead_hub_unclaimed_objects", always(3))}, quiet: []series{metric("fairlead_hub_unclaimed_objects", always(0))}, text: "3 objects",
		},
		"FairleadLineUnstable": {
			fires: []series{metric("fairlead_hub_line_losses_total", growing(0.01), "cluster", "edge-1")},
			quiet: []series{metric("fairlead_hub_line_losses_total", growing(0.004), "cluster", "edge-1"), metric("fairlead_hub_line_losses_total", growing(0.004), "cluster", "edge-2")},
			text:  "The line of edge-1 is lost again and again",
		},
		"FairleadLinesOverLimit": {
			fires: []series{metric("fairlead_hub_lines_refused_total", growing(1), "reason", "TooManyRequests")},
			quiet: []series{
				metric("fairlead_hub_lines_refused_total", growing(0.01), "reason", "TooManyRequests"), metric("fairlead_hub_lines_refused_total", growing(1), "reason", "NotFound"),
			}, text: "600 requests",
		},
		"FairleadObjectsRefused": {
			fires: []series{metric("fairlead_hub_refused_objects", always(2), "reason", "Denied")},
			quiet: []series{metric("fairlead_hub_refused_objects", always(0), "reason", "Denied")}, text: "2 objects",
		},
		"FairleadApplicationsFailing": {
			fires: []series{metric("fairlead_hub_applications", always(2), "state", "Failing")}, quiet: calm, text: "2 applications cannot be rendered",
		},
		"FairleadApplicationsMoving": {
			fires: []series{metric("fairlead_hub_applications", always(3), "state", "Moving")}, quiet: calm, text: "now 3",
		},
		"FairleadApplicationsUnscheduled": {
			fires: []series{metric("fairlead_hub_applications", always(2), "state", "Unscheduled")}, quiet: calm, text: "hub explain",
		},
		"FairleadApplicationsUnhealthy": {
			fires: []series{metric("fairlead_hub_applications", always(2), "state", "Unhealthy")}, quiet: calm, text: "2 applications",
		},
		"FairleadBackupOld": {
			fires: []series{made(3), metric(every, always(day))}, quiet: []series{made(1.5), metric(every, always(day))}, text: "3d",
		},
		"FairleadBackupMissing": {
			fires: []series{metric(newest, always(0)), metric(every, always(day))}, quiet: []series{made(9), metric(every, always(day))}, text: "no backup",
		},
		"FairleadBackupFailing": {
			fires: []series{metric("fairlead_hub_backup_failures_total", growing(0.001))},
			quiet: []series{metric("fairlead_hub_backup_failures_total", always(3))}, text: "failed in the last two hours",
		},
		"FairleadRolloutHalted": {
			fires: []series{metric("fairlead_hub_rollout_rollouts", always(2), "phase", "Halted")},
			quiet: []series{metric("fairlead_hub_rollout_rollouts", always(0), "phase", "Halted"), metric("fairlead_hub_rollout_rollouts", always(3), "phase", "Soaking")},
			text:  "2 rollouts",
		},
		"FairleadRolloutWaits": {
			fires: []series{metric("fairlead_hub_rollout_rollouts", always(1), "phase", "Waiting")},
			quiet: []series{metric("fairlead_hub_rollout_rollouts", always(0), "phase", "Waiting"), metric("fairlead_hub_rollout_rollouts", always(3), "phase", "Progressing")},
			text:  "1 rollouts have waited",
		},
		"FairleadClusterLongBehind": {
			fires: []series{metric("fairlead_hub_rollout_set_aside_oldest_seconds", always(8*day))},
			quiet: []series{metric("fairlead_hub_rollout_set_aside_oldest_seconds", always(day))}, text: "8d",
		},
		"FairleadDriftFought": {
			fires: []series{metric("fairlead_hub_agent_drift_repaired_total", growing(1.0/31), "cluster", "edge-1")}, // one object, repeatedly
			quiet: []series{metric("fairlead_hub_agent_drift_repaired_total", growing(0.001), "cluster", "edge-1")}, text: "at most one of an object",
		},
		"FairleadObjectsStuck": {
			fires: []series{metric("fairlead_hub_agent_stuck_objects", always(1), "cluster", "edge-1")},
			quiet: []series{metric("fairlead_hub_agent_stuck_objects", always(0), "cluster", "edge-1")}, text: "1 objects",
		},
		"FairleadJournalFailing": {
			fires: []series{metric("fairlead_hub_agent_journal_failing", always(1), "cluster", "edge-1")},
			quiet: []series{metric("fairlead_hub_agent_journal_failing", always(0), "cluster", "edge-1")}, text: "edge-1",
		},
		"FairleadAgentRestarts": {
			fires: []series{metric("fairlead_hub_agent_restarts_total", growing(0.01), "cluster", "edge-1")},
			quiet: []series{metric("fairlead_hub_agent_restarts_total", growing(0.0002), "cluster", "edge-1")}, text: "edge-1",
		},
	}
}

// memberCertificate is what a hub tells of the client certificate of an agent; without a lifetime, of an agent that does not tell it.
func memberCertificate(cluster string, remaining, lifetime float64) []series {
	out := []series{metric("fairlead_hub_agent_member_certificate_remaining_seconds", always(remaining), "cluster", cluster)}
	if lifetime > 0 {
		out = append(out, metric("fairlead_hub_agent_member_certificate_lifetime_seconds", always(lifetime), "cluster", cluster))
	}
	return out
}
