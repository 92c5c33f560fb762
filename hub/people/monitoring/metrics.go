package monitoring

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// descriptions describe the metrics that are collected when scraped.
type descriptions struct {
	applications, clusters, policies, heartbeat, certificate, works, held, refused, unclaimed, noted, pending, oldest *prometheus.Desc
	agent                                                                                                             agentDescriptions
}

// agentDescriptions describe what agents count. It arrives in the status of their Clusters, since agents behind a
// firewall cannot be scraped.
type agentDescriptions struct {
	drift, restarts, stuck, journalWorks, journalBytes, journalFailing, memberCertificate, memberCertificateLifetime, sent, received *prometheus.Desc
}

func describeAgents() agentDescriptions {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("fairlead_hub_agent_"+name, help, []string{"cluster"}, nil)
	}
	return agentDescriptions{
		drift:          desc("drift_repaired_total", "Changes in a member that its agent put back, since the agent started."),
		restarts:       desc("restarts_total", "How often the agent of a cluster was started anew and told the hub."),
		stuck:          desc("stuck_objects", "Objects that were deleted from a member and are held there by finalizers."),
		journalWorks:   desc("journal_works", "Works that the agent of a cluster has on its disk."),
		journalBytes:   desc("journal_bytes", "Size of the files of the Works that the agent of a cluster has on its disk."),
		journalFailing: desc("journal_failing", "1 if the agent of a cluster cannot write its journal, 0 if it can or keeps none."),
		memberCertificate: desc("member_certificate_remaining_seconds",
			"For how long the client certificate holds by which the agent of a cluster is known to the API server there; less than 0 once it has expired. Nothing is told of a cluster that is silent."),
		memberCertificateLifetime: desc("member_certificate_lifetime_seconds",
			"How long that certificate holds from its beginning to its end. Nothing is told of a cluster that is silent, nor of an agent that does not say."),
		sent:     desc("sent_bytes_total", "Bytes that the agent of a cluster sent to the hub since it started, TLS included."),
		received: desc("received_bytes_total", "Bytes that the agent of a cluster got from the hub since it started, TLS included."),
	}
}

func (d agentDescriptions) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.drift, d.restarts, d.stuck, d.journalWorks, d.journalBytes, d.journalFailing, d.memberCertificate, d.memberCertificateLifetime, d.sent, d.received}
}

func describe() descriptions {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("fairlead_hub_"+name, help, labels, nil)
	}
	return descriptions{
		agent:        describeAgents(),
		applications: desc("applications", "Templates that policies propagate, and dependencies of them, by the worst state of each.", "state"),
		clusters:     desc("clusters", "Clusters by state.", "state"),
		policies:     desc("idle_policies", "Policies that have no template."),
		heartbeat: desc("cluster_heartbeat_age_seconds",
			"How long ago the hub saw the agent of a cluster renew its lease, by the hub's clock.", "cluster"),
		certificate: desc("cluster_certificate_remaining_seconds",
			"How long the latest certificate of the agent of a cluster is still valid; less than 0 once it has expired.", "cluster"),
		works: desc("cluster_works",
			"Works of a cluster by what its agent says: applied, failing, waiting (it said nothing yet) or deleting.", "cluster", "state"),
		held: desc("cluster_deletions_held",
			"Whether the agent of a cluster holds back deletions until an operator says to go on (1) or not (0).", "cluster"),
		refused:   desc("refused_objects", "Objects that clusters cannot apply, by reason, over all clusters.", "reason"),
		unclaimed: desc("unclaimed_objects", "Objects in clusters that name a Work which the hub does not have, over all clusters."),
		noted: desc("clusters_noted",
			"Clusters of which a condition is true that a person has to look at though they may be ready, by that condition: SeveralAgents, RightsWithheld, "+
				"CapacityJumped or CapacityUnknown.", "reason"),
		pending: desc("propagation_pending",
			"Applications with a change that some cluster has yet to apply; clusters that are silent, refuse it or are suspended do not count."),
		oldest: desc("propagation_oldest_seconds",
			"How long ago the oldest change was seen that fairlead_hub_propagation_pending counts; 0 if there is none."),
	}
}

// newPropagation returns the histogram of how long changes take.
func newPropagation() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "fairlead_hub_propagation_seconds",
		Help: "From the hub's noticing a change (of a template, its policy or its clusters) until all clusters have applied it; of clusters that were silent " +
			"from when they were heard from again.",
		// 25 ms to 55 min.
		Buckets: prometheus.ExponentialBuckets(0.025, 2.5, 14),
	})
}

// registered registers a collector, or returns the one that another hub in this process has registered under its name.
func registered[C prometheus.Collector](registry metrics.RegistererGatherer, collector C) (C, error) {
	err := registry.Register(collector)
	if twice, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := twice.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return collector, err
}
