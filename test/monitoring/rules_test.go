package monitoring

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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

// warm is how long what is growing needs until it is too much.
const warm = 20 * time.Minute

// TestEachAlertFires checks that each alert fires where it should, after its `for`, and not in a healthy fleet.
func TestEachAlertFires(t *testing.T) {
	t.Parallel()
	cases := ruleCases()
	rules, err := Rules()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(rules).To(HaveLen(len(cases)), "each rule has a case")
	for _, r := range rules {
		t.Run(r.Alert, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tc, ok := cases[r.Alert]
			g.Expect(ok).To(BeTrue(), "each rule has a case")
			holds, err := time.ParseDuration(r.For)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Labels["severity"]).To(BeElementOf("info", "warning", "critical"))

			p := newPrometheus(t, warm+holds, tc.fires)
			for since := warm; since <= warm+holds; since += time.Minute {
				g.Expect(p.at(t, r.Expr, since)).NotTo(BeEmpty(), "it is pending for %s", since-warm)
			}
			fired := p.at(t, r.Expr, warm+holds)[0]
			values := fired.Metric.Map()
			for _, annotation := range []string{"summary", "description"} {
				g.Expect(Text(r.Annotations[annotation], values, fired.F)).NotTo(Or(BeEmpty(), ContainSubstring("no value")))
			}
			summary, err := Text(r.Annotations["summary"]+" "+r.Annotations["description"], values, fired.F)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(summary).To(ContainSubstring(tc.text))

			q := newPrometheus(t, warm+holds, tc.quiet)
			g.Expect(q.at(t, r.Expr, warm+holds)).To(BeEmpty(), "all is well")
		})
	}
}

// TestEachFleetAlertsByItself evaluates the rules over two hubs, of which one has a problem: the other neither hides
// nor duplicates it.
func TestEachFleetAlertsByItself(t *testing.T) {
	t.Parallel()
	rules, err := Rules()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	cases := ruleCases()
	for name, fleets := range map[string][2][]string{
		"jobs":                {{"job", "fairlead-hub-eu"}, {"job", "fairlead-hub-us"}},
		"namespaces of a job": {{"job", "fairlead-hub", "namespace", "eu"}, {"job", "fairlead-hub", "namespace", "us"}},
	} {
		for _, r := range rules {
			t.Run(r.Alert+" of two "+name, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				holds, err := time.ParseDuration(r.For)
				g.Expect(err).NotTo(HaveOccurred())
				tc := cases[r.Alert]
				alone := newPrometheus(t, warm+holds, of(fleets[0], tc.fires)).at(t, r.Expr, warm+holds)
				both := newPrometheus(t, warm+holds, slices.Concat(of(fleets[0], tc.fires), of(fleets[1], tc.quiet))).at(t, r.Expr, warm+holds)
				g.Expect(both).To(Equal(alone))
				g.Expect(both).NotTo(BeEmpty())
				for _, alert := range both {
					for i := 0; i < len(fleets[0]); i += 2 {
						g.Expect(alert.Metric.Get(fleets[0][i])).To(Equal(fleets[0][i+1]), "it says of which fleet it is")
					}
				}
			})
		}
	}
}

// of adds a fleet's labels to series. Series of other jobs keep theirs.
func of(fleet []string, all []series) []series {
	var out []series
	for _, s := range all {
		at := slices.Index(s.labels, "job")
		switch {
		case at < 0:
			s.labels = slices.Concat(s.labels, fleet)
		case s.labels[at+1] == "fairlead-hub":
			s.labels = slices.Concat(s.labels[:at], s.labels[at+2:], fleet)
		}
		out = append(out, s)
	}
	return out
}

// TestAHubThatIsGoneIsMissedBesideAnother makes the series of a hub end, as those of a deleted pod do.
func TestAHubThatIsGoneIsMissedBesideAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rules, err := Rules()
	g.Expect(err).NotTo(HaveOccurred())
	absent := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Alert == "FairleadHubAbsent" })]
	told := metric("fairlead_hub_applications", always(5), "state", "Healthy", "job", "fairlead-hub-eu")
	told.ends = 10 * time.Minute
	p := newPrometheus(t, 2*time.Hour, []series{told, metric("fairlead_hub_applications", always(5), "state", "Healthy", "job", "fairlead-hub-us")})
	g.Expect(p.at(t, absent.Expr, 9*time.Minute)).To(BeEmpty())
	missed := p.at(t, absent.Expr, 40*time.Minute)
	g.Expect(missed).To(HaveLen(1))
	g.Expect(missed[0].Metric.Get("job")).To(Equal("fairlead-hub-eu"))
	g.Expect(p.at(t, absent.Expr, 75*time.Minute)).To(BeEmpty(), "its job was renamed, or it was given up")
	g.Expect(newPrometheus(t, time.Hour, nil).at(t, absent.Expr, time.Hour)).To(HaveLen(1), "there is none at all")
}

// TestASilentClusterKeepsItsAlertWhileAnotherHubTakesOver checks that a takeover does not resolve the alert: the time
// without metrics is shorter than keep_firing_for plus the time that the alert takes to fire again.
func TestASilentClusterKeepsItsAlertWhileAnotherHubTakesOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rules, err := Rules()
	g.Expect(err).NotTo(HaveOccurred())
	silent := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Alert == "FairleadClusterSilent" })]
	holds, err := time.ParseDuration(silent.For)
	g.Expect(err).NotTo(HaveOccurred())
	stays, err := time.ParseDuration(silent.KeepFiringFor)
	g.Expect(err).NotTo(HaveOccurred())
	const takeover = time.Minute
	g.Expect(stays).To(BeNumerically(">", holds+takeover))
}

func TestDashboardsCanBeRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dashboards, err := Dashboards()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dashboards).To(HaveLen(2))
	for _, d := range dashboards {
		g.Expect(d.UID).NotTo(BeEmpty())
		ids, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			g.Expect(ids[p.ID]).To(BeFalse(), "panel %d of %s is there twice", p.ID, d.Title)
			ids[p.ID] = true
			g.Expect(p.Title).NotTo(BeEmpty())
			g.Expect(p.Description).NotTo(BeEmpty(), "panel %s says what it shows", p.Title)
			g.Expect(p.Targets).NotTo(BeEmpty())
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					g.Expect(cells).NotTo(HaveKey([2]int{x, y}), "panel %s lies on another", p.Title)
					cells[[2]int{x, y}] = p.Title
				}
			}
		}
	}
	queries, err := Queries()
	g.Expect(err).NotTo(HaveOccurred())
	for _, q := range queries {
		asked, err := q.Asks()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(asked).NotTo(BeEmpty(), q.Where)
	}
}
